import { type ReactNode, useMemo } from 'react'
import { describeError, isSentTooLong } from '../shared/api/error-text.ts'
import { focusField } from '../shared/conversation/composer.tsx'
import { formatShare } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { type useChat, useChatActions } from './chat-state.ts'
import { FULL_SHARE, isMeasurable, measureContext, SHOWN_SHARE } from './context-size.ts'
import { useSentPath } from './messages.ts'
import { splitPath } from './sent-history.ts'
import { planSummary } from './summary-plan.ts'
import { summaryRuns, useSummaryRun } from './summary-runs.ts'
import { estimateTokens } from './token-estimate.ts'

interface ContextGaugeProps {
  slug: string
  chat: ReturnType<typeof useChat>
}

/** The buttons go with what they do, so the focus moves to the field. */
const thenFocus = (act: () => void) => () => {
  act()
  focusField('chat')
}

/** Shows how much of what the model can read a chat takes, and offers a summary before it is too much. */
export function ContextGauge({ slug, chat }: ContextGaugeProps) {
  const run = useSummaryRun(slug)
  return (
    <>
      {run?.phase === 'running' && (
        <Notice layout="row" role="status">
          <span>{t('app.summary.running')}</span>
          <Button onClick={thenFocus(() => run.stop?.())}>{t('app.summary.stop')}</Button>
        </Notice>
      )}
      {run?.phase === 'failed' && (
        <Notice kind="error" layout="row" role="alert">
          <span>
            {t('app.summary.failed')} {describeError(run.error)}
          </span>
          <Button onClick={thenFocus(() => summaryRuns.clear(slug))}>{t('app.close')}</Button>
        </Notice>
      )}
      {run?.phase === 'stored' && (
        <p className="off-screen" role="status">
          {t('app.summary.stored')}
        </p>
      )}
      {run?.phase !== 'running' && <FullnessMeter slug={slug} chat={chat} />}
    </>
  )
}

/** The meter, unless the failure of the last answer says more. */
function FullnessMeter({ slug, chat: { steps, turn, model, preparation } }: ContextGaugeProps) {
  const { summarise } = useChatActions()
  const maxTokens = model?.limits?.maxInputTokens ?? undefined
  const { instructions = '' } = preparation
  const messages = useMemo(() => steps.map(({ message }) => message), [steps])
  const isNeeded = useMemo(() => maxTokens !== undefined && !isMeasurable(messages), [messages, maxTokens])
  const { path, isRead } = useSentPath(slug, messages, isNeeded)
  const share = useMemo(
    () => (maxTokens ? measureContext(path, maxTokens, estimateTokens(instructions)) / maxTokens : 0),
    [path, maxTokens, instructions],
  )
  const end = messages.at(-1)?.number
  if (!model || end === undefined || share < SHOWN_SHARE || isSentTooLong(turn?.error)) return null
  const isFull = share >= FULL_SHARE
  const canSummarise = isFull && planSummary(splitPath(path), maxTokens) !== undefined
  const fullText: ReactNode = canSummarise ? t('app.context.full') : t('app.summary.nothing')
  return (
    <Notice kind={isFull ? 'warning' : 'info'} layout="row">
      <meter
        aria-label={t('app.context')}
        min={0}
        max={1}
        low={SHOWN_SHARE}
        high={FULL_SHARE}
        optimum={0}
        value={Math.min(1, share)}
      />
      <span>
        {t(isRead ? 'app.context.share' : 'app.context.leastShare', {
          share: formatShare(Math.min(1, share)),
          model: model.label,
        })}{' '}
        {isFull && fullText}
      </span>
      {canSummarise && (
        <Button disabled={turn !== undefined && turn.phase !== 'failed'} onClick={thenFocus(() => void summarise(end))}>
          {t('app.summary.create')}
        </Button>
      )}
    </Notice>
  )
}
