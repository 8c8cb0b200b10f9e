import '@patternfly/react-core/dist/styles/base.css'
import './app/app.css'
import { pageAt, pages } from './app/pages'

// Loads the code of the page beside that of all pages, rather than behind it. One that does not come is asked for again by the router, which
// says what is wrong.
const page = pageAt(location.pathname)
if (page) pages[page]().catch(() => undefined)
void import('./app/start')
