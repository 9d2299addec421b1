import { useState } from 'react'
import type { Answer, Comparison, Side } from '../shared/conversation/answer.ts'
import { joinTexts } from '../shared/conversation/answer-segments.ts'
import { MessageActions } from '../shared/conversation/message-actions.tsx'
import { MessageView, UnreadableNote } from '../shared/conversation/message-view.tsx'
import { PickerButton } from '../shared/models/model-button.tsx'
import { type ChatModel, findModelLabel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { CopyButton } from '../shared/ui/copy-button.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { FailureNotice, UnsavedNotice } from './answer-failure.tsx'
import { useChatActions } from './chat-state.ts'
import styles from './comparison-view.module.css'
import { AnswerBody, AnsweredBy, cutLabels } from './message.tsx'
import type { OpenedMessage } from './message-content.ts'
import type { ShownComparison } from './shown-comparison.ts'
import { UsageFacts } from './step-actions.tsx'
import { isStreaming } from './turn.ts'
import { findReason } from './unanswered.ts'

interface ComparisonProps {
  shown: ShownComparison
  models: readonly ChatModel[]
}

const sides = [0, 1] as const satisfies Side[]

/** The answers of two models to one question, side by side, or one below the other where there is no room. */
export function ComparisonView({ shown, models }: ComparisonProps) {
  const { answers, isOpen } = shown
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
          {t(getHintKey(shown))}
        </p>
      )}
      {!isOpen && answers.every(({ turn }) => turn === undefined) && <p className="hint">{t('app.unanswered')}</p>}
    </section>
  )
}

/** Returns the label of the sentence that says how the comparison goes on. */
function getHintKey({ comparison, answers, isRunning }: ShownComparison): string {
  if (!isRunning) return comparison.isBlind ? 'app.compare.chooseBlind' : 'app.compare.choose'
  if (answers.every(({ turn }) => isStreaming(turn))) return 'app.compare.running'
  return answers.some(({ turn, message }) => !isStreaming(turn) && message)
    ? 'app.compare.oneRunning'
    : 'app.compare.lastRunning'
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
    <FailureNotice
      error={error}
      isForBoth
      actions={
        <>
          <Button onClick={() => compareAgain(parent, comparison)}>{t('app.compare.bothAgain')}</Button>
          {[...new Set(comparison.models)].map((modelId) => (
            <Button key={modelId} onClick={() => tryAgain(parent, { modelId })}>
              {t('app.compare.askOne', { name: findModelLabel(modelId, models) })}
            </Button>
          ))}
        </>
      }
    >
      <p>{t('app.compare.refused')}</p>
    </FailureNotice>
  )
}

interface ComparedAnswerProps extends ComparisonProps {
  side: Side
}

/** One of the answers, with its price and what can be done with it. */
function ComparedAnswer({ shown, side, models }: ComparedAnswerProps) {
  const { comparison } = shown
  const { turn, message } = shown.answers[side]
  const isComing = isStreaming(turn)
  // Another model may have been asked on this side since.
  const { models: asked } = turn?.comparison ?? message?.answer.comparison ?? comparison
  const letter = t(side === 0 ? 'app.compare.first' : 'app.compare.second')
  const name = comparison.isBlind ? letter : `${letter}: ${findModelLabel(asked[side], models)}`
  return (
    <MessageView className={styles.side} name={name} isBusy={isComing}>
      {turn?.phase === 'waiting' && <p className="hint">{t('app.message.waiting')}</p>}
      {message?.isUnreadable && <UnreadableNote reason={t('app.message.unreadable')} />}
      <SideAnswer
        answer={turn && turn.phase !== 'failed' ? turn.answer : message?.answer}
        isStreaming={isComing}
        isBlind={comparison.isBlind}
        models={models}
      />
      {isComing ? (
        <StopButton side={side} name={name} />
      ) : (
        <SideEnd shown={shown} side={side} name={name} models={models} />
      )}
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
  const { usage, cut } = answer
  return (
    <>
      <SourceBoundary source={answer.text}>
        <AnswerBody answer={answer} isStreaming={isStreaming} />
        {!isStreaming && cut && <p className="hint">{t(cutLabels[cut])}</p>}
      </SourceBoundary>
      {!(isStreaming || isBlind) && (
        <>
          <AnsweredBy answer={answer} models={models} />
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

interface SideProps {
  side: Side
  name: string
}

function StopButton({ side, name }: SideProps) {
  const { stopSide } = useChatActions()
  return (
    <MessageActions>
      <Button aria-label={t('app.compare.stop', { name })} onClick={() => stopSide(side)}>
        {t('app.composer.stop')}
      </Button>
    </MessageActions>
  )
}

/** Says why an answer is missing or not stored yet, and offers what can be done on this side. */
function SideEnd({ shown, side, name, models }: SideProps & ComparisonProps) {
  const { retrySide } = useChatActions()
  const { slug, parent, answers } = shown
  const { turn, message } = answers[side]
  const comparison = turn?.comparison ?? message?.answer.comparison ?? shown.comparison
  const ask = (asked: Comparison['models']) => retrySide(parent, { ...comparison, side, models: asked })
  const retry = () => ask(comparison.models)
  const waysOn = (
    <>
      <Button aria-label={t('app.compare.tryAgain', { name })} onClick={retry}>
        {t('app.tryAgain')}
      </Button>
      <PickerButton
        models={models}
        model={comparison.isBlind ? undefined : models.find(({ modelId }) => modelId === comparison.models[side])}
        choose={(modelId) => ask(side === 0 ? [modelId, comparison.models[1]] : [comparison.models[0], modelId])}
        label={t('app.compare.askOther', { name })}
        className={getButtonClass()}
      >
        {t('app.compare.other')}
      </PickerButton>
    </>
  )
  return (
    <>
      {turn?.phase === 'failed' && <FailureNotice error={turn.error} actions={waysOn} />}
      {turn?.phase === 'unsaved' && <UnsavedNotice error={turn.error} />}
      {!(turn || message) && (
        <>
          <p className="hint">{findReason({ slug, parent, side }) ?? t('app.unanswered')}</p>
          <Toolbar>{waysOn}</Toolbar>
        </>
      )}
      {message && (
        <MessageActions>
          {turn?.phase !== 'unsaved' && <ChooseButton message={message} name={name} />}
          <CopyButton text={joinTexts(message.answer)} label={t('app.message.copy')} />
          {turn?.phase !== 'failed' && (
            <IconButton icon="repeat" label={t('app.compare.retry', { name })} onClick={retry} />
          )}
        </MessageActions>
      )}
    </>
  )
}

/** Goes on with this answer. The other one ends, and stays as another version. */
function ChooseButton({ message, name }: { message: OpenedMessage; name: string }) {
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
        disabled={state === 'choosing'}
        onClick={() => void choose()}
      >
        {t('app.compare.goOn')}
      </Button>
      {typeof state === 'object' && <InlineError error={state.error} />}
    </>
  )
}
