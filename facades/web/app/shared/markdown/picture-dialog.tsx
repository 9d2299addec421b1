import type { ReactNode } from 'react'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogClose } from '../ui/dialog.tsx'
import { Toolbar } from '../ui/toolbar.tsx'

interface PictureDialogProps {
  title: string
  /** Absent until there is something to save. */
  save: (() => void) | undefined
  close: () => void
  children: ReactNode
}

/** Shows a picture as large as the window is. */
export const PictureDialog = ({ title, save, close, children }: PictureDialogProps) => (
  <Dialog title={title} width="window" close={close}>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
    <section className="large-picture-area" aria-label={title} tabIndex={0}>
      {children}
    </section>
    <Toolbar align="end">
      <Button onClick={save} disabled={!save}>
        {t('app.picture.save')}
      </Button>
      <DialogClose>{t('app.close')}</DialogClose>
    </Toolbar>
  </Dialog>
)
