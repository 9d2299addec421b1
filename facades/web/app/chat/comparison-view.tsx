import { useState } from 'react'
import { describeError } from '../shared/api/error-text.ts'
import type { Answer, Side } from '../shared/conversation/answer.ts'
import { joinTexts } from '../shared/conversation/answer-segments.ts'
import { MessageActions } from '../shared/conversation/message-actions.tsx'
import { MessageView, UnreadableNote } from '../shared/conversation/message-view.tsx'
import { type ChatModel, findModelLabel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { CopyButton } from '../shared/ui/copy-button.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { useChatActions } from './chat-state.ts'
import styles from './comparison-view.module.css'
import { AnswerBody, cutLabels } from './message.tsx'
import type { OpenedMessage } from './message-content.ts'
import type { ShownComparison } from './shown-comparison.ts'
import { UsageFacts } from './step-actions.tsx'
import { isHalted, type Turn } from './turn.ts'

interface ComparisonProps {
  shown: ShownComparison
  models: readonly ChatModel[]
}

const sides = [0, 1] as const satisfies Side[]

/** The answers of two models to one question, side by side, or one below the other where there is no room. */
export function ComparisonView({ shown, models }: ComparisonProps) {
  const { comparison, answers, isRunning, isOpen } = shown
  const refusal = findSharedFailure(shown)
  return (
    <section className={styles.comparison} aria-label={t('app.compare.answers')}>
      {refusal ? (
        <RefusalNotice shown={shown} models={models} error={refusal.error} />
      ) : (
        <div className={styles.sides}>
          {sides.map((side) => (
            <ComparedAnswer key={side} shown={shown} side={side} models={models} />
          ))}
        </div>
      )}
      {isOpen && (
        <p className="hint" role="status">
          {isRunning
            ? t('app.compare.running')
            : t(comparison.isBlind ? 'app.compare.chooseBlind' : 'app.compare.choose')}
        </p>
      )}
      {!isOpen && answers.every(({ turn }) => turn === undefined) && <p className="hint">{t('app.unanswered')}</p>}
    </section>
  )
}

/** Returns the failure for which neither model was asked. */
function findSharedFailure({ answers: [first, second] }: ShownComparison): { error: unknown } | undefined {
  if (first.turn?.phase !== 'failed' || second.turn?.phase !== 'failed') return undefined
  return first.turn.error === second.turn.error ? { error: first.turn.error } : undefined
}

/** Says why neither model was asked, and offers to ask both again or one of them. */
function RefusalNotice({ shown: { parent, comparison }, models, error }: ComparisonProps & { error: unknown }) {
  const { compareAgain, tryAgain } = useChatActions()
  return (
    <Notice kind="error" role="alert">
      <p>{t('app.compare.refused')}</p>
      <p>{describeError(error)}</p>
      <p className={styles.buttons}>
        <Button onClick={() => compareAgain(parent, comparison)}>{t('app.compare.bothAgain')}</Button>
        {[...new Set(comparison.models)].map((modelId) => (
          <Button key={modelId} onClick={() => tryAgain(parent, { modelId })}>
            {t('app.compare.askOne', { name: findModelLabel(modelId, models) })}
          </Button>
        ))}
      </p>
    </Notice>
  )
}

interface ComparedAnswerProps extends ComparisonProps {
  side: Side
}

/** One of the answers, with its price and what can be done with it. */
function ComparedAnswer({ shown, side, models }: ComparedAnswerProps) {
  const { comparison } = shown
  const { turn, message } = shown.answers[side]
  const isStreaming = turn !== undefined && !isHalted(turn)
  const letter = t(side === 0 ? 'app.compare.first' : 'app.compare.second')
  const name = comparison.isBlind ? letter : `${letter}: ${findModelLabel(comparison.models[side], models)}`
  return (
    <MessageView className={styles.side} name={name} isBusy={isStreaming}>
      {turn?.phase === 'waiting' && <p className="hint">{t('app.message.waiting')}</p>}
      {message?.isUnreadable && <UnreadableNote reason={t('app.message.unreadable')} />}
      <SideAnswer
        answer={turn && turn.phase !== 'failed' ? turn.answer : message?.answer}
        isStreaming={isStreaming}
        isBlind={comparison.isBlind}
        models={models}
      />
      <SideFailure turn={turn} isMissing={!(turn || message)} />
      <SideActions shown={shown} side={side} name={name} isStreaming={isStreaming} />
    </MessageView>
  )
}

interface SideAnswerProps {
  answer: Answer | undefined
  isStreaming: boolean
  isBlind: boolean
  models: readonly ChatModel[]
}

/** The text of an answer, and its price unless that would tell which model wrote it. */
function SideAnswer({ answer, isStreaming, isBlind, models }: SideAnswerProps) {
  if (!answer) return null
  const { answeredBy, usage, cut } = answer
  return (
    <>
      <SourceBoundary source={answer.text}>
        <AnswerBody answer={answer} isStreaming={isStreaming} />
        {!isStreaming && cut && <p className="hint">{t(cutLabels[cut])}</p>}
      </SourceBoundary>
      {!(isStreaming || isBlind) && (
        <>
          {answeredBy !== undefined && (
            <p className="hint">{t('app.message.answeredBy', { model: findModelLabel(answeredBy, models) })}</p>
          )}
          {usage && (
            <p className="hint">
              <UsageFacts usage={usage} />
            </p>
          )}
        </>
      )}
    </>
  )
}

interface SideActionsProps {
  shown: ShownComparison
  side: Side
  name: string
  isStreaming: boolean
}

function SideActions({ shown: { parent, comparison, answers, isRunning }, side, name, isStreaming }: SideActionsProps) {
  const { stopSide, retrySide } = useChatActions()
  const { message } = answers[side]
  if (isStreaming)
    return (
      <MessageActions>
        <Button aria-label={t('app.compare.stop', { name })} onClick={() => stopSide(side)}>
          {t('app.composer.stop')}
        </Button>
      </MessageActions>
    )
  return (
    <MessageActions>
      {message && <ChooseButton message={message} name={name} isDisabled={isRunning} />}
      {message && <CopyButton text={joinTexts(message.answer)} label={t('app.message.copy')} />}
      <IconButton
        icon="repeat"
        label={t('app.compare.retry', { name })}
        onClick={() => retrySide(parent, { ...comparison, side })}
      />
    </MessageActions>
  )
}

/** Says why an answer is missing, or not stored yet. */
function SideFailure({ turn, isMissing }: { turn: Turn | undefined; isMissing: boolean }) {
  if (isMissing) return <p className="hint">{t('app.unanswered')}</p>
  if (!turn || !isHalted(turn)) return null
  return (
    <Notice kind={turn.phase === 'unsaved' ? 'warning' : 'error'} role="alert">
      {turn.phase === 'unsaved' && `${t('app.unsaved')} `}
      {describeError(turn.error)}
    </Notice>
  )
}

/** Goes on with this answer; the other one stays as another version. */
function ChooseButton({ message, name, isDisabled }: { message: OpenedMessage; name: string; isDisabled: boolean }) {
  const { chooseAnswer } = useChatActions()
  const [state, setState] = useState<'ready' | 'choosing' | { error: unknown }>('ready')
  const choose = async () => {
    setState('choosing')
    await chooseAnswer(message).catch((error: unknown) => setState({ error }))
  }
  return (
    <>
      <Button
        aria-label={t('app.compare.goOnWith', { name })}
        disabled={isDisabled || state === 'choosing'}
        onClick={() => void choose()}
      >
        {t('app.compare.goOn')}
      </Button>
      {typeof state === 'object' && <InlineError error={state.error} />}
    </>
  )
}
