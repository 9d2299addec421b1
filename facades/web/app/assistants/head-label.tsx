import { Icon, type IconName } from '../shared/ui/icon.tsx'
import { useIsNarrow } from '../shared/ui/sidebar-state.ts'

/** The words of a link in the head of a page. On narrow screens an icon stands for them, so that the title has room. */
export const HeadLabel = ({ icon, text }: { icon: IconName; text: string }) => (
  <>
    <Icon name={icon} /> <span className={useIsNarrow() ? 'off-screen' : undefined}>{text}</span>
  </>
)
