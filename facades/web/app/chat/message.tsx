import { memo, useState } from 'react'
import { type Answer, emptyAnswer } from '../shared/answer/answer.ts'
import { errorText, isRefusedForNow, requestIdOf } from '../shared/api/error-text.ts'
import { type ChatModel, modelLabel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { EditForm } from '../shared/ui/edit-form.tsx'
import { AnswerBody } from './answer-body.tsx'
import { AttachedFiles } from './attached-files.tsx'
import type { Step } from './branches.ts'
import { useChatActions } from './chat-state.ts'
import { MessageActions } from './message-actions.tsx'
import type { OpenedMessage } from './message-content.ts'
import type { Turn } from './turn.ts'

interface MessageProps {
  step: Step
  models: readonly ChatModel[]
  /** Whether it is the one that was searched for. */
  isWanted: boolean
}

/** A question as it is stored. */
export const QuestionMessage = memo(({ step, models, isWanted }: MessageProps) => {
  const { message } = step
  const { number, answer, isUnreadable, attachments } = message
  const [isEditing, setEditing] = useState(false)
  const name = t('app.message.you')
  return (
    <article id={number} className={classOf('user', isWanted)} aria-label={t('app.message.by', { name })}>
      <h2>{name}</h2>
      {isUnreadable && <Unreadable />}
      <AttachedFiles files={attachments} />
      {isEditing && <QuestionForm message={message} close={() => setEditing(false)} />}
      {!isEditing && answer.text !== '' && (
        <p className="question" dir="auto">
          {answer.text}
        </p>
      )}
      {!isEditing && <MessageActions step={step} models={models} edit={() => setEditing(true)} />}
    </article>
  )
})

/** Asks a question in other words. The earlier one stays, as another version. */
function QuestionForm({ message, close }: { message: OpenedMessage; close: () => void }) {
  const { resend } = useChatActions()
  return (
    <EditForm
      label={t('app.message.edit')}
      text={message.answer.text}
      action={t('app.message.resend')}
      save={(text) => resend(message.number, text)}
      close={close}
    >
      {message.attachments.length > 0 && <p className="hint">{t('app.message.editFiles')}</p>}
    </EditForm>
  )
}

interface AnswerMessageProps {
  /** It as it is stored. */
  step?: Step
  /** It as it comes. */
  turn?: Turn
  /** Why it ended, where it failed. */
  failure?: unknown
  models: readonly ChatModel[]
  isWanted?: boolean
  /** Whether it is the last one, which can be gone on with. */
  isLast?: boolean
}

/** An answer: the same element while it comes and when it is stored, so that nothing is drawn anew at its end. */
export const AnswerMessage = memo(
  ({ step, turn, failure, models, isWanted = false, isLast = false }: AnswerMessageProps) => {
    const { answer, model, isComplete } = shownAnswer(step, turn)
    const name = modelLabel(model, models)
    const isGrowing = turn !== undefined && turn.phase !== 'failed' && answer.cut === undefined
    return (
      <article
        id={step?.message.number}
        className={classOf('assistant', isWanted)}
        aria-label={t('app.message.by', { name })}
        aria-busy={turn && turn.phase !== 'failed'}
      >
        <h2>{name}</h2>
        {turn?.phase === 'waiting' && <p className="hint">{t('app.message.waiting')}</p>}
        {step?.message.isUnreadable && <Unreadable />}
        <AnswerBody answer={answer} isComplete={isComplete} isGrowing={isGrowing} isLast={isLast} />
        {failure !== undefined && <Failure error={failure} />}
        {step && <MessageActions step={step} models={models} />}
      </article>
    )
  },
)

interface ShownAnswer {
  answer: Answer
  model: string
  isComplete: boolean
}

const shownAnswer = (step: Step | undefined, turn: Turn | undefined): ShownAnswer =>
  turn
    ? { ...turn, isComplete: turn.answer.cut === undefined }
    : {
        answer: step?.message.answer ?? emptyAnswer,
        model: step?.message.model ?? '',
        isComplete: step?.message.isComplete ?? true,
      }

const classOf = (role: 'user' | 'assistant', isWanted: boolean) =>
  isWanted ? `message ${role} found` : `message ${role}`

const Unreadable = () => <p className="hint">{t('app.message.unreadable')}</p>

/** Says what went wrong where it went wrong, and what to do. */
function Failure({ error }: { error: unknown }) {
  const { tryAgain } = useChatActions()
  const isForNow = isRefusedForNow(error)
  const requestId = isForNow ? undefined : requestIdOf(error)
  return (
    <div className={isForNow ? 'notice warn' : 'notice wrong'} role="alert">
      <p>{errorText(error)}</p>
      {requestId && (
        <p className="hint">
          {t('page.requestId')}: <code>{requestId}</code>
        </p>
      )}
      <button type="button" className="quiet-button" onClick={tryAgain}>
        {t('app.tryAgain')}
      </button>
    </div>
  )
}
