import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { describeError } from '../shared/api/error-text.ts'
import { focusField } from '../shared/conversation/composer.tsx'
import { type ChatModel, findModelLabel } from '../shared/models/models.ts'
import { isPageFile, isText } from '../shared/page-files.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { useChatActions } from './chat-state.ts'
import type { Overflow } from './overflow.ts'
import { useSummaryRun } from './summary-runs.ts'

interface OverflowNoticeProps {
  slug: string
  error: unknown
  /** The number of the question, or of the summary behind it. */
  parent: number
  /** The model that was asked. */
  model: string
  models: readonly ChatModel[]
}

/** Says what was too long for a model, and offers what would help. */
export function OverflowNotice({ slug, error, parent, model, models }: OverflowNoticeProps) {
  const { findOverflow, summarise, tryAgain, edit } = useChatActions()
  // What is asked meanwhile would run beside the answer that follows the summary.
  const isSummarising = useSummaryRun(slug)?.phase === 'running'
  const { data, isPending } = useQuery({
    queryKey: ['overflow', parent, model, error],
    queryFn: async () => (await findOverflow(parent, model)) ?? null,
    gcTime: 0,
    retry: false,
  })
  const overflow = data ?? undefined
  if (isPending) return null
  const startSummary = () => {
    void summarise(parent, model)
    // The button can't keep the focus.
    focusField('chat')
  }
  return (
    <Notice kind="error" role="alert">
      <p>{overflow ? describe(overflow, findModelLabel(model, models)) : describeError(error)}</p>
      {overflow?.canSummarise === false && overflow.isFollowed && <p>{t('app.overflow.followed')}</p>}
      <Toolbar>
        {overflow?.canSummarise && (
          <Button disabled={isSummarising} onClick={startSummary}>
            {t('app.summary.create')}
          </Button>
        )}
        {overflow?.canSummarise === false && <ShortenButton overflow={overflow} edit={edit} />}
        <Button disabled={isSummarising} onClick={() => tryAgain(parent)}>
          {t('app.tryAgain')}
        </Button>
      </Toolbar>
    </Notice>
  )
}

const describe = ({ canSummarise, file }: Overflow, model: string): string => {
  if (canSummarise) return t('app.overflow.chat', { model })
  return file ? t('app.overflow.file', { model, name: file.name }) : t('app.overflow.text', { model })
}

/** Sends the beginning of a file that has a text, or opens the form for another question. */
function ShortenButton({ overflow, edit }: { overflow: Overflow; edit: (number: number) => void }) {
  const { sendBeginning } = useChatActions()
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const { file, question, isFollowed } = overflow
  // Only the service reads the text of other documents.
  const isCuttable = file && (isPageFile(file.id) ? isText(file) : file.fileType !== 'image')
  if (!isCuttable || isFollowed) return <Button onClick={() => edit(question)}>{t('app.message.edit')}</Button>
  const send = () => {
    setState('sending')
    sendBeginning(overflow).then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  return (
    <>
      <Button disabled={state === 'sending'} onClick={send}>
        {t('app.overflow.sendBeginning')}
      </Button>
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
    </>
  )
}
