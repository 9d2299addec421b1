import { AlertDialog } from '@base-ui/react/alert-dialog'
import { t } from '../text/labels.ts'

/** Shows the complete address before it is opened. */
export const LeaveDialog = ({ target, close }: { target: string; close: () => void }) => (
  <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className="backdrop" />
      <AlertDialog.Popup className="dialog">
        <AlertDialog.Title>{t('app.link.title')}</AlertDialog.Title>
        <AlertDialog.Description className="address">{target}</AlertDialog.Description>
        <p className="actions">
          <AlertDialog.Close className="quiet-button">{t('page.cancel')}</AlertDialog.Close>
          <a className="button" href={target} target="_blank" rel="noreferrer noopener nofollow" onClick={close}>
            {t('app.link.open')}
          </a>
        </p>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
)
