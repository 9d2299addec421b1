import { useEffect } from 'react'
import { siteName } from '../site.ts'

/** Names the page in the tab and the history of the browser. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${siteName}`
    return () => {
      document.title = siteName
    }
  }, [title])
}
