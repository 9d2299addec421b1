import { AlertDialog } from '@base-ui/react/alert-dialog'
import { t } from '../text/labels.ts'
import { DialogClose, DialogPopup, DialogText } from './dialog.tsx'
import { Toolbar } from './toolbar.tsx'

export interface Confirmation {
  title: string
  text: string
  /** The label of the button that confirms. */
  action: string
}

interface ConfirmDialogProps extends Confirmation {
  confirm: () => unknown
  close: () => void
}

/** Asks for confirmation of something that cannot be undone. «Cancel» comes first and has the focus. */
export const ConfirmDialog = ({ title, text, action, confirm, close }: ConfirmDialogProps) => (
  <AlertDialog.Root defaultOpen onOpenChangeComplete={(isOpen) => !isOpen && close()}>
    <DialogPopup title={title}>
      <DialogText>{text}</DialogText>
      <Toolbar align="end">
        <DialogClose>{t('page.cancel')}</DialogClose>
        <DialogClose kind="danger" onClick={confirm}>
          {action}
        </DialogClose>
      </Toolbar>
    </DialogPopup>
  </AlertDialog.Root>
)
