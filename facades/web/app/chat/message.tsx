import { lazy, memo, Suspense, useState } from 'react'
import { type Answer, emptyAnswer } from '../shared/conversation/answer.ts'
import { AnswerParts } from '../shared/conversation/answer-parts.tsx'
import { AnswerView, CutNote, QuestionText, QuestionView } from '../shared/conversation/chat-message.tsx'
import { attachFiles } from '../shared/conversation/composer.tsx'
import { Details, DetailsPart } from '../shared/conversation/details.tsx'
import { FileButton, FileLink, FileList } from '../shared/conversation/file-list.tsx'
import { UnreadableNote } from '../shared/conversation/message-view.tsx'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { type ChatModel, findModelLabel } from '../shared/models/models.ts'
import { findPageFile, isPageFile } from '../shared/page-files.ts'
import { saveFile } from '../shared/save-file.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { downloadFile } from '../shared/upload-file.ts'
import { AnswerFailure, UnsavedNotice } from './answer-failure.tsx'
import { type PathStep, ROOT_NUMBER } from './branches.ts'
import { useChatActions } from './chat-state.ts'
import { type OpenedMessage, writeNumber } from './message-content.ts'
import { StepActions } from './step-actions.tsx'
import { isHalted, type Turn } from './turn.ts'

const QuestionForm = lazy(async () => ({ default: (await import('./question-form.tsx')).QuestionForm }))

interface MessageProps {
  step: PathStep
  models: readonly ChatModel[]
  /** True if the address links to this message. */
  isTarget: boolean
}

interface QuestionMessageProps extends MessageProps {
  /** True if the model gets it together with the question above, which nobody has answered. */
  isJoined: boolean
  isEditing: boolean
  /** True if its files were read long ago, so that the model gets only their names. */
  areFilesNamed: boolean
}

/** A stored question. */
export const QuestionMessage = memo((props: QuestionMessageProps) => {
  const { step, models, isTarget, isJoined, isEditing, areFilesNamed } = props
  const { message } = step
  const { number, answer, isUnreadable, attachments } = message
  const { edit } = useChatActions()
  return (
    <QuestionView id={writeNumber(number)} name={null} isQuestion isTarget={isTarget}>
      {isUnreadable && <UnreadableNote reason={t('app.message.unreadable')} />}
      {!isEditing && <AttachedFiles files={attachments} />}
      {!isEditing && areFilesNamed && attachments.length > 0 && <NamedFilesNote files={attachments} />}
      {isEditing && (
        <Suspense>
          <QuestionForm message={message} close={() => edit(undefined)} />
        </Suspense>
      )}
      {!isEditing && answer.text !== '' && <QuestionText>{answer.text}</QuestionText>}
      {isJoined && <p className="hint">{t('app.message.joined')}</p>}
      {!isEditing && <StepActions step={step} models={models} edit={() => edit(number)} />}
    </QuestionView>
  )
})

interface AnswerMessageProps {
  slug: string
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
  ({ slug, step, turn, failure, models, isTarget = false, isLast = false }: AnswerMessageProps) => {
    const { answer, model, isComplete } = getShownAnswer(step, turn)
    const isStreaming = turn !== undefined && !isHalted(turn) && answer.cut === undefined
    return (
      <AnswerView
        id={step && writeNumber(step.message.number)}
        name={nameAuthor(model, answer, models)}
        isBusy={turn && !isHalted(turn)}
        isTarget={isTarget}
      >
        {turn?.phase === 'waiting' && <p className="hint">{t('app.message.waiting')}</p>}
        {step?.message.isUnreadable && <UnreadableNote reason={t('app.message.unreadable')} />}
        <SourceBoundary source={answer.text}>
          <AnswerBody answer={answer} isStreaming={isStreaming} />
          <AnsweredBy answer={answer} models={models} />
          {!isStreaming && !isComplete && <CutNotice answer={answer} message={step?.message} isLast={isLast} />}
        </SourceBoundary>
        <AnswerEnd slug={slug} step={step} turn={turn} failure={failure} model={model} models={models} />
        {step && <StepActions step={step} models={models} />}
      </AnswerView>
    )
  },
)

/** Says that another model answered than the one that was asked, or than that of the assistant. */
export const AnsweredBy = ({ answer, models }: { answer: Answer; models: readonly ChatModel[] }) =>
  answer.answeredBy !== undefined && (
    <p className="hint">
      {t(answer.assistant ? 'app.assistants.answeredBy' : 'app.message.answeredBy', {
        model: findModelLabel(answer.answeredBy, models),
      })}
    </p>
  )

/** Names a model, or an assistant with the version that answered. */
function nameAuthor(model: string, { assistant }: Answer, models: readonly ChatModel[]): string {
  const name = findModelLabel(model, models)
  const version = assistant?.split('@')[1]
  return version === undefined ? name : t('app.assistants.answered', { name, version })
}

interface AnswerEndProps {
  slug: string
  step: PathStep | undefined
  turn: Turn | undefined
  failure: unknown
  model: string
  models: readonly ChatModel[]
}

/** Says why an answer failed, or why it is not stored. */
function AnswerEnd({ slug, step, turn, failure, model, models }: AnswerEndProps) {
  if (failure === undefined) return null
  if (turn?.phase === 'unsaved') return <UnsavedNotice error={failure} />
  const parent = turn?.parent ?? step?.parentNumber ?? ROOT_NUMBER
  return <AnswerFailure slug={slug} error={failure} parent={parent} model={model} models={models} />
}

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

interface AnswerBodyProps {
  answer: Answer
  isStreaming: boolean
}

/** The text of an answer with its thoughts, tool calls and sources. */
export const AnswerBody = ({ answer, isStreaming }: AnswerBodyProps) => (
  <>
    <Thoughts answer={answer} isStreaming={isStreaming} />
    <AnswerParts answer={answer} isStreaming={isStreaming} canApprove={isStreaming} />
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
    <Details
      summary={
        isThinking
          ? t('app.thoughts.now')
          : t('app.thoughts.took', { count: Math.max(1, Math.round(thinkingSeconds ?? 0)) })
      }
    >
      <DetailsPart>
        <Markdown text={thoughts.map((thought) => thought.text).join('\n\n')} isStreaming={isStreaming} />
      </DetailsPart>
    </Details>
  )
}

interface CutNoticeProps {
  answer: Answer
  /** The answer as it is stored. */
  message: OpenedMessage | undefined
  isLast: boolean
}

/** Says that an answer is incomplete, and offers to continue it, or to request another one after a refusal. */
function CutNotice({ answer: { cut = 'interrupted' }, message, isLast }: CutNoticeProps) {
  const { continueAnswer, regenerate } = useChatActions()
  const [error, setError] = useState<unknown>()
  const act = (request: () => Promise<void>) => {
    setError(undefined)
    request().catch(setError)
  }
  return (
    <CutNote>
      <span>{t(cutLabels[cut])}</span>
      {isLast && cut !== 'refusal' && <Button onClick={() => act(continueAnswer)}>{t('app.message.continue')}</Button>}
      {cut === 'refusal' && message && (
        <Button onClick={() => act(() => regenerate(message))}>{t('app.tryAgain')}</Button>
      )}
      <InlineError error={error} />
    </CutNote>
  )
}

export const cutLabels = {
  length: 'app.cut.length',
  limit: 'app.cut.limit',
  refusal: 'app.cut.refusal',
  stopped: 'app.cut.stopped',
  interrupted: 'app.cut.interrupted',
} as const

/** The attachments of a message. */
const AttachedFiles = ({ files }: { files: OpenedMessage['attachments'] }) =>
  files.length > 0 && (
    <FileList>
      {files.map((file) => (
        <li key={file.id}>
          {isPageFile(file.id) ? (
            <FileButton
              name={file.name}
              picture={<Icon name="file" />}
              onClick={() => saveFile(findPageFile(file.id).content, file.name)}
            />
          ) : (
            <FileLink
              name={file.name}
              href={`/proxy/storage/${file.identifier}`}
              picture={<FilePicture fileType={file.fileType} identifier={file.identifier} />}
            />
          )}
        </li>
      ))}
    </FileList>
  )

/** Says that the model gets only the names of files, and offers to attach them to the next question. */
function NamedFilesNote({ files }: { files: OpenedMessage['attachments'] }) {
  const [state, setState] = useState<'ready' | 'reading' | { error: unknown }>('ready')
  const readAgain = async () => {
    setState('reading')
    try {
      attachFiles('chat', await Promise.all(files.map(downloadFile)))
      setState('ready')
    } catch (error) {
      setState({ error })
    }
  }
  return (
    <p className="hint">
      {t('app.files.named')}{' '}
      <Button kind="plain" disabled={state === 'reading'} onClick={() => void readAgain()}>
        {t('app.files.readAgain')}
      </Button>
      {typeof state === 'object' && <InlineError error={state.error} />}
    </p>
  )
}

const FilePicture = ({
  fileType,
  identifier,
}: Pick<OpenedMessage['attachments'][number], 'fileType' | 'identifier'>) =>
  fileType === 'image' ? <img src={`/proxy/storage/${identifier}`} alt="" loading="lazy" /> : <Icon name="file" />
