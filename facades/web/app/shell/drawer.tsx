import { Dialog } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'
import { t } from '../shared/text/labels.ts'

/** Shows the sidebar over a narrow page. */
export const Drawer = ({ close, children }: { close: () => void; children: ReactNode }) => (
  <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
    <Dialog.Portal>
      <Dialog.Backdrop className="backdrop" />
      <Dialog.Popup className="sidebar drawer" aria-label={t('app.navigation')}>
        {children}
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)
