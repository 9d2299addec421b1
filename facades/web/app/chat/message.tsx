import { memo, useState } from 'react'
import { describeError, getRequestId, isRateLimited } from '../shared/api/error-text.ts'
import { type Answer, emptyAnswer } from '../shared/conversation/answer.ts'
import { MessageText, MessageView, UnreadableNote } from '../shared/conversation/message-view.tsx'
import { ToolSteps } from '../shared/conversation/tool-steps.tsx'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { type ChatModel, findModelLabel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { EditForm } from '../shared/ui/edit-form.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import type { PathStep } from './branches.ts'
import { useChatActions } from './chat-state.ts'
import { MessageActions } from './message-actions.tsx'
import { type OpenedMessage, writeNumber } from './message-content.ts'
import type { Turn } from './turn.ts'

interface MessageProps {
  step: PathStep
  models: readonly ChatModel[]
  /** True if the address links to this message. */
  isTarget: boolean
}

/** A stored question. */
export const QuestionMessage = memo(({ step, models, isTarget }: MessageProps) => {
  const { message } = step
  const { number, answer, isUnreadable, attachments } = message
  const [isEditing, setEditing] = useState(false)
  return (
    <MessageView id={writeNumber(number)} className={getMessageClass('user', isTarget)} name={t('app.message.you')}>
      {isUnreadable && <UnreadableNote reason={t('app.message.unreadable')} />}
      <AttachedFiles files={attachments} />
      {isEditing && <QuestionForm message={message} close={() => setEditing(false)} />}
      {!isEditing && answer.text !== '' && (
        <p className="question" dir="auto">
          {answer.text}
        </p>
      )}
      {!isEditing && <MessageActions step={step} models={models} edit={() => setEditing(true)} />}
    </MessageView>
  )
})

/** Edits a question. The earlier one stays as another version. */
function QuestionForm({ message, close }: { message: OpenedMessage; close: () => void }) {
  const { resend } = useChatActions()
  return (
    <EditForm
      label={t('app.message.edit')}
      text={message.answer.text}
      action={t('app.message.resend')}
      save={(text) => resend(message, text)}
      close={close}
    >
      {message.attachments.length > 0 && <p className="hint">{t('app.message.editFiles')}</p>}
    </EditForm>
  )
}

interface AnswerMessageProps {
  /** The answer as it is stored. */
  step?: PathStep
  /** The answer while it streams. */
  turn?: Turn
  /** The error that ended it. */
  failure?: unknown
  models: readonly ChatModel[]
  isTarget?: boolean
  /** True for the last answer, which can be continued. */
  isLast?: boolean
}

/**
 * An answer, in the same element while it streams and once it is stored, so that nothing is rendered anew at its end.
 */
export const AnswerMessage = memo(
  ({ step, turn, failure, models, isTarget = false, isLast = false }: AnswerMessageProps) => {
    const { answer, model, isComplete } = getShownAnswer(step, turn)
    const isStreaming = turn !== undefined && turn.phase !== 'failed' && answer.cut === undefined
    return (
      <MessageView
        id={step && writeNumber(step.message.number)}
        className={getMessageClass('assistant', isTarget)}
        name={findModelLabel(model, models)}
        isBusy={turn && turn.phase !== 'failed'}
      >
        {turn?.phase === 'waiting' && <p className="hint">{t('app.message.waiting')}</p>}
        {step?.message.isUnreadable && <UnreadableNote reason={t('app.message.unreadable')} />}
        <SourceBoundary source={answer.text}>
          <AnswerBody answer={answer} isComplete={isComplete} isStreaming={isStreaming} isLast={isLast} />
        </SourceBoundary>
        {failure !== undefined && <Failure error={failure} />}
        {step && <MessageActions step={step} models={models} />}
      </MessageView>
    )
  },
)

interface ShownAnswer {
  answer: Answer
  model: string
  isComplete: boolean
}

const getShownAnswer = (step: PathStep | undefined, turn: Turn | undefined): ShownAnswer =>
  turn
    ? { ...turn, isComplete: turn.answer.cut === undefined }
    : {
        answer: step?.message.answer ?? emptyAnswer,
        model: step?.message.model ?? '',
        isComplete: step?.message.isComplete ?? true,
      }

const getMessageClass = (role: 'user' | 'assistant', isTarget: boolean) =>
  isTarget ? `message ${role} found` : `message ${role}`

/** Shows the error below the answer, with a button to try again. */
function Failure({ error }: { error: unknown }) {
  const { tryAgain } = useChatActions()
  const isForNow = isRateLimited(error)
  const requestId = isForNow ? undefined : getRequestId(error)
  return (
    <div className={isForNow ? 'notice warn' : 'notice wrong'} role="alert">
      <p>{describeError(error)}</p>
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

interface AnswerBodyProps {
  answer: Answer
  isComplete: boolean
  isStreaming?: boolean
  isLast?: boolean
}

/** The text of an answer with its thoughts, tool calls and sources. */
const AnswerBody = ({ answer, isComplete, isStreaming = false, isLast = false }: AnswerBodyProps) => (
  <>
    <Thoughts answer={answer} isStreaming={isStreaming} />
    <ToolSteps tools={answer.tools} isStreaming={isStreaming} />
    <MessageText text={answer.text} sources={answer.citations} isStreaming={isStreaming} />
    {!isStreaming && !isComplete && <CutNotice cut={answer.cut ?? 'interrupted'} isLast={isLast} />}
  </>
)

/** The thoughts of the model, collapsed. */
function Thoughts({
  answer: { thoughts, thinkingSeconds, text },
  isStreaming,
}: {
  answer: Answer
  isStreaming: boolean
}) {
  if (thoughts.length === 0) return null
  const isThinking = isStreaming && text === '' && thinkingSeconds === undefined
  return (
    <details className="thoughts">
      <summary>
        <Icon name="next" />
        {isThinking
          ? t('app.thoughts.now')
          : t('app.thoughts.took', { count: Math.max(1, Math.round(thinkingSeconds ?? 0)) })}
      </summary>
      <div className="thoughts-text">
        <Markdown text={thoughts.map((thought) => thought.text).join('\n\n')} isStreaming={isStreaming} />
      </div>
    </details>
  )
}

/** Says that an answer is incomplete, and offers to continue it. */
function CutNotice({ cut, isLast }: { cut: NonNullable<Answer['cut']>; isLast: boolean }) {
  const { continueAnswer } = useChatActions()
  const [error, setError] = useState<unknown>()
  const requestRest = () => {
    setError(undefined)
    continueAnswer().catch(setError)
  }
  return (
    <p className="cut">
      <span>{t(cutLabels[cut])}</span>
      {isLast && cut !== 'refusal' && (
        <button type="button" className="quiet-button" onClick={requestRest}>
          {t('app.message.continue')}
        </button>
      )}
      <InlineError error={error} />
    </p>
  )
}

const cutLabels = {
  length: 'app.cut.length',
  limit: 'app.cut.limit',
  refusal: 'app.cut.refusal',
  stopped: 'app.cut.stopped',
  interrupted: 'app.cut.interrupted',
} as const

/** The attachments of a message. */
const AttachedFiles = ({ files }: { files: OpenedMessage['attachments'] }) =>
  files.length > 0 && (
    <ul className="files" aria-label={t('app.files')}>
      {files.map(({ id, name, fileType, identifier }) => (
        <li key={id}>
          <a href={`/proxy/storage/${identifier}`} target="_blank" rel="noreferrer">
            {fileType === 'image' ? (
              <img src={`/proxy/storage/${identifier}`} alt="" loading="lazy" />
            ) : (
              <Icon name="attach" />
            )}
            <span>{name}</span>
          </a>
        </li>
      ))}
    </ul>
  )
