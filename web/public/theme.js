// Sets the theme before anything is drawn. It is a file of its own because the page allows no script within it.
(function () {
  var chosen = null
  try {
    chosen = localStorage.getItem('kqueen.theme')
  } catch (e) {
    // Storage is closed to this page: the system decides.
  }
  var dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  document.documentElement.classList.toggle('pf-v6-theme-dark', dark)
})()
