import { lazy, Suspense, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import { useToolQuestions } from './tool-questions.ts'

const ToolQuestionDialog = lazy(async () => ({
  default: (await import('./tool-question-dialog.tsx')).ToolQuestionDialog,
}))

/** Tells that a program of the person waits for an answer, which a dialog takes. */
export function ToolQuestionNotice() {
  const { data: [first] = [] } = useToolQuestions()
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      {first && (
        <Notice kind="warning" layout="row" role="status">
          <span>{t('app.settings.question', { name: first.tool, token: first.token })}</span>
          <Button onClick={() => setOpen(true)}>{t('app.toolQuestion.answer')}</Button>
        </Notice>
      )}
      {isOpen && (
        <Suspense>
          <ToolQuestionDialog close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
