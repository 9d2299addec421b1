import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { siteName } from '../site.ts'
import { t } from '../text/labels.ts'
import { IconButton } from './icon-button.tsx'
import styles from './page-head.module.css'
import { useIsNarrow, useSidebar } from './sidebar-state.ts'

/** Sets the title of the document. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · ${siteName}`
    return () => {
      document.title = siteName
    }
  }, [title])
}

/** Opens the sidebar on narrow screens. */
function SidebarButton() {
  const { setOpen } = useSidebar()
  const area = useLocation({ select: ({ pathname }) => pathname.split('/')[1] })
  const label = t(areaLabels.get(area) ?? 'app.chats')
  return useIsNarrow() ? <IconButton icon="menu" label={label} onClick={() => setOpen(true)} /> : null
}

/** The labels of the lists in the sidebar, by the first part of the address. */
const areaLabels: ReadonlyMap<string | undefined, string> = new Map([
  ['rooms', 'app.rooms'],
  ['admin', 'app.admin'],
])

/** The head of a page, with the button that opens the sidebar on narrow screens. */
export const PageHead = ({ children }: { children: ReactNode }) => (
  <header className={styles.head}>
    <SidebarButton />
    {children}
  </header>
)
