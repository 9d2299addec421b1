import { t } from '../shared/text/labels.ts'
import { Dialog, DialogClose } from '../shared/ui/dialog.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { PassageView } from './passage-view.tsx'

/** A cited passage over the chat or the room. */
export const PassageDialog = ({ address, close }: { address: string; close: () => void }) => (
  <Dialog title={t('app.source.title')} width="wide" close={close}>
    <PassageView address={address} />
    <Toolbar>
      <DialogClose>{t('app.close')}</DialogClose>
    </Toolbar>
  </Dialog>
)
