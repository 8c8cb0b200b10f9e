import { useSyncExternalStore } from 'react'

const key = 'kqueen.theme'
const darkClass = 'pf-v6-theme-dark'

export function isDark() {
  return document.documentElement.classList.contains(darkClass)
}

/** setDark chooses the theme for this browser. public/theme.js sets it before the page is drawn. */
export function setDark(dark: boolean) {
  document.documentElement.classList.toggle(darkClass, dark)
  try {
    localStorage.setItem(key, dark ? 'dark' : 'light')
  } catch {
    // Storage is closed to this page: the choice lasts until it is left.
  }
}

/** useDark is whether the theme is dark, for what draws by itself, such as the editor. */
export function useDark() {
  return useSyncExternalStore(watchTheme, isDark)
}

function watchTheme(changed: () => void) {
  const observer = new MutationObserver(changed)
  observer.observe(document.documentElement, { attributeFilter: ['class'] })
  return () => observer.disconnect()
}
