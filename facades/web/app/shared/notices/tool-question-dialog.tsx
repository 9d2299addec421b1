import { useRef } from 'react'
import { t } from '../text/labels.ts'
import { Dialog, DialogClose } from '../ui/dialog.tsx'
import { Toolbar } from '../ui/toolbar.tsx'
import { ToolQuestionList } from './tool-question-list.tsx'

/** Lets the person answer what their programs ask, without leaving the page. */
export function ToolQuestionDialog({ close }: { close: () => void }) {
  const closeRef = useRef<HTMLButtonElement>(null)
  return (
    <Dialog title={t('app.settings.questionsTitle')} close={close}>
      <ToolQuestionList onAnswered={() => closeRef.current?.focus()} />
      <Toolbar align="end">
        <DialogClose ref={closeRef}>{t('app.close')}</DialogClose>
      </Toolbar>
    </Dialog>
  )
}
