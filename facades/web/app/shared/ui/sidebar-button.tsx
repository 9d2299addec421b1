import { useLocation } from '@tanstack/react-router'
import { t } from '../text/labels.ts'
import { IconButton } from './icon-button.tsx'
import { useIsNarrow, useSidebar } from './sidebar-state.ts'

/** Opens the sidebar where the page is narrow. */
export function SidebarButton() {
  const { setOpen } = useSidebar()
  const isInRooms = useLocation({ select: ({ pathname }) => pathname.startsWith('/rooms') })
  const label = t(isInRooms ? 'app.rooms' : 'app.chats')
  return useIsNarrow() ? <IconButton icon="menu" label={label} onClick={() => setOpen(true)} /> : null
}
