import { useEffect } from 'react'

const site = document.title

/** Names the page in the tab and the history of the browser. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${site}`
    return () => {
      document.title = site
    }
  }, [title])
}
