import { Dialog } from '@base-ui/react/dialog'
import type { ReactNode } from 'react'
import { t } from '../shared/text/labels.ts'
import { DialogBackdrop } from '../shared/ui/dialog.tsx'
import styles from './drawer.module.css'

/** Shows the sidebar over a narrow page. */
export const Drawer = ({ close, children }: { close: () => void; children: ReactNode }) => (
  <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
    <Dialog.Portal>
      <DialogBackdrop />
      <Dialog.Popup className={styles.drawer} aria-label={t('app.navigation')}>
        {children}
      </Dialog.Popup>
    </Dialog.Portal>
  </Dialog.Root>
)
