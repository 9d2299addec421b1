import { AlertDialog } from '@base-ui/react/alert-dialog'
import { t } from '../text/labels.ts'

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
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className="backdrop" />
      <AlertDialog.Popup className="dialog">
        <AlertDialog.Title>{title}</AlertDialog.Title>
        <AlertDialog.Description>{text}</AlertDialog.Description>
        <p className="actions">
          <AlertDialog.Close className="quiet-button">{t('page.cancel')}</AlertDialog.Close>
          <AlertDialog.Close className="danger-button" onClick={confirm}>
            {action}
          </AlertDialog.Close>
        </p>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
)
