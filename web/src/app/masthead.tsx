import {
  Button,
  Dropdown,
  DropdownItem,
  DropdownList,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  MastheadToggle,
  MenuToggle,
  PageToggleButton,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from '@patternfly/react-core'
import BarsIcon from '@patternfly/react-icons/dist/esm/icons/bars-icon'
import MoonIcon from '@patternfly/react-icons/dist/esm/icons/moon-icon'
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon'
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon'
import SunIcon from '@patternfly/react-icons/dist/esm/icons/sun-icon'
import UserIcon from '@patternfly/react-icons/dist/esm/icons/user-icon'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../api/client'
import { OrganizationChoice } from './organizationchoice'
import { useMe } from './queries'
import { setDark, useDark } from './theme'

export function TopBar({ find }: { find: () => void }) {
  const dark = useDark()
  return (
    <Masthead>
      <MastheadMain>
        <MastheadToggle>
          <PageToggleButton variant="plain" aria-label="Navigation" icon={<BarsIcon />} />
        </MastheadToggle>
        <MastheadBrand>
          <MastheadLogo component={(props) => <Link {...props} to="/" />} aria-label="KQueen: overview">
            <img src="/portal/favicon.svg" alt="" width="28" height="28" />
            <span className="kq-name">KQueen</span>
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isFullHeight isStatic>
          <ToolbarContent>
            <ToolbarItem>
              <OrganizationChoice />
            </ToolbarItem>
            <ToolbarGroup align={{ default: 'alignEnd' }} variant="action-group-plain">
              <ToolbarItem>
                <Button
                  variant="plain"
                  icon={<SearchIcon />}
                  aria-label="Find (Ctrl-K)"
                  title="Find (Ctrl-K)"
                  onClick={find}
                />
              </ToolbarItem>
              <ToolbarItem visibility={{ default: 'hidden', md: 'visible' }}>
                <Button
                  variant="plain"
                  icon={dark ? <SunIcon /> : <MoonIcon />}
                  aria-label={dark ? 'Light theme' : 'Dark theme'}
                  title={dark ? 'Light theme' : 'Dark theme'}
                  onClick={() => setDark(!dark)}
                />
              </ToolbarItem>
              <ToolbarItem visibility={{ default: 'hidden', md: 'visible' }}>
                <Button
                  variant="plain"
                  icon={<QuestionCircleIcon />}
                  aria-label="Documentation"
                  title="Documentation"
                  component="a"
                  href="/docs"
                />
              </ToolbarItem>
              <ToolbarItem>
                <Account />
              </ToolbarItem>
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  )
}

function Account() {
  const me = useMe()
  const navigate = useNavigate()
  const [open, setOpen] = useState(false)
  const leave = async () => {
    await api.POST('/api/v1/signout')
    location.assign('/signin')
  }
  return (
    <Dropdown
      isOpen={open}
      onOpenChange={setOpen}
      onSelect={() => setOpen(false)}
      popperProps={{ position: 'right', appendTo: 'inline' }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          variant="plainText"
          onClick={() => setOpen(!open)}
          isExpanded={open}
          icon={<UserIcon />}
          aria-label={`${me.displayName || me.name}: account`}
        >
          <span className="kq-account">{me.displayName || me.name}</span>
        </MenuToggle>
      )}
    >
      <DropdownList>
        <DropdownItem key="profile" onClick={() => void navigate({ to: '/profile', search: {} })}>
          Profile
        </DropdownItem>
        <DropdownItem key="leave" onClick={() => void leave()}>
          Sign out
        </DropdownItem>
      </DropdownList>
    </Dropdown>
  )
}
