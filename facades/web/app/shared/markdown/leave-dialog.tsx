import { t } from '../text/labels.ts'
import { getButtonClass } from '../ui/button.tsx'
import { Dialog, DialogClose, DialogText } from '../ui/dialog.tsx'
import { Toolbar } from '../ui/toolbar.tsx'

/** Shows the complete address before it is opened. */
export const LeaveDialog = ({ target, close }: { target: string; close: () => void }) => (
  <Dialog isAlert title={t('app.link.title')} close={close}>
    <DialogText className="monospace">{target}</DialogText>
    <Toolbar align="end">
      <DialogClose>{t('page.cancel')}</DialogClose>
      <a
        className={getButtonClass('primary')}
        href={target}
        target="_blank"
        rel="noreferrer noopener nofollow"
        onClick={close}
      >
        {t('app.link.open')}
      </a>
    </Toolbar>
  </Dialog>
)
