import { memo, useState } from 'react'
import { errorText, requestIdOf } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { AnswerBody } from './answer-body.tsx'
import { AttachedFiles } from './attached-files.tsx'
import type { Step } from './branches.ts'
import { useChatActions } from './chat-state.ts'
import { MessageActions } from './message-actions.tsx'
import { type ChatModel, modelLabel } from './models.ts'
import { QuestionEditor } from './question-editor.tsx'
import type { Turn } from './turn.ts'

interface MessageProps {
  step: Step
  models: readonly ChatModel[]
  /** Whether it is the one that was searched for. */
  isWanted: boolean
  /** Whether it is the last one, which can be gone on with. */
  isLast: boolean
}

/** A message as it is stored. */
export const Message = memo(({ step, models, isWanted, isLast }: MessageProps) => {
  const { message } = step
  const { role, answer, isUnreadable } = message
  const [isEditing, setEditing] = useState(false)
  const name = role === 'user' ? t('app.message.you') : modelLabel(message.model ?? '', models)
  return (
    <article
      id={message.number}
      className={isWanted ? `message ${role} found` : `message ${role}`}
      aria-label={t('app.message.by', { name })}
    >
      <h2>{name}</h2>
      {isUnreadable && <p className="hint">{t('app.message.unreadable')}</p>}
      <AttachedFiles files={message.attachments} />
      {isEditing && <QuestionEditor message={message} close={() => setEditing(false)} />}
      {!isEditing && role === 'user' && answer.text !== '' && (
        <p className="question" dir="auto">
          {answer.text}
        </p>
      )}
      {role === 'assistant' && <AnswerBody answer={answer} isComplete={message.isComplete} isLast={isLast} />}
      {!isEditing && <MessageActions step={step} models={models} edit={() => setEditing(true)} />}
    </article>
  )
})

/** An answer as it comes. */
export const TurnMessage = ({ turn, models }: { turn: Turn; models: readonly ChatModel[] }) => {
  const name = modelLabel(turn.model, models)
  const isFailed = turn.phase === 'failed'
  const isGrowing = turn.phase === 'waiting' || turn.phase === 'answering'
  return (
    <article className="message assistant" aria-label={t('app.message.by', { name })} aria-busy={!isFailed}>
      <h2>{name}</h2>
      {turn.phase === 'waiting' && <p className="hint">{t('app.message.waiting')}</p>}
      <AnswerBody answer={turn.answer} isComplete={turn.answer.cut === undefined} isGrowing={isGrowing} />
      {isFailed && <Failure error={turn.error} />}
    </article>
  )
}

/** Says what went wrong where it went wrong, and what to do. */
function Failure({ error }: { error: unknown }) {
  const { tryAgain } = useChatActions()
  const requestId = requestIdOf(error)
  return (
    <div className="notice wrong" role="alert">
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
