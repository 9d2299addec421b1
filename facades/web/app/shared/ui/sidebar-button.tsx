import { t } from '../text/labels.ts'
import { IconButton } from './icon-button.tsx'
import { useIsNarrow, useSidebar } from './sidebar-state.ts'

/** Opens the sidebar where the page is narrow. */
export function SidebarButton() {
  const { setOpen } = useSidebar()
  return useIsNarrow() ? <IconButton icon="menu" label={t('app.chats')} onClick={() => setOpen(true)} /> : null
}
