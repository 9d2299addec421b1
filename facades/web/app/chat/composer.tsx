import { lazy, type ReactNode, type RefObject, Suspense, useRef, useState } from 'react'
import {
  type Completion,
  Composer,
  SendButton,
  useAttachmentTarget,
  useFieldFocus,
  useInsertions,
  useSubmit,
} from '../shared/conversation/composer.tsx'
import { isTemporaryDraft, useDraft } from '../shared/conversation/draft.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { useUploads } from '../shared/uploads.ts'
import { getDraftName } from './chat-model.ts'
import { type ModelChoice, useFileFit } from './file-fit.tsx'
import { findTypedPrompt } from './prompts/prompt-text.ts'
import { type QueuedContent, queuedQuestions, type WrittenQuestion } from './queued-questions.ts'
import { runTask, useTask } from './tasks.ts'
import { isInMessage } from './temporary-chats.ts'

interface QuestionComposerProps {
  /** The conversation; undefined before it is created. */
  slug: string | undefined
  canSend: boolean
  /** True while what a question needs is still being read. */
  isLoading?: boolean
  isAnswering?: boolean
  /** The models, the one that will be asked, and a function that chooses another one. */
  models: ModelChoice
  /** Notices that explain why nothing can be sent. */
  obstacle?: ReactNode
  /** Sends a question, or keeps it until the running answer has ended. */
  send: (question: WrittenQuestion) => Promise<void>
  /** Shows the question that waits; the function puts it back into the form. */
  showQueued?: (restore: (question: QueuedContent) => Promise<void>) => ReactNode
  stop?: () => void
  editLast?: () => void
  /** More buttons below the field. */
  children?: ReactNode
}

/** The form in which a question is written. */
export function QuestionComposer(props: QuestionComposerProps) {
  const { slug, canSend, isLoading = false, isAnswering = false, models, obstacle, send, showQueued } = props
  const field = useRef<HTMLTextAreaElement>(null)
  const { draft, uploads, error, canSubmit, submit } = useQuestionForm(slug, {
    canSend,
    isLoading,
    send,
  })
  const [improvementError, setImprovementError] = useState<unknown>()
  useInsertions('chat', draft, field)
  useFieldFocus('chat', field)
  const prompts = usePromptCompletion(draft, field)
  const notices = (
    <>
      <ErrorNotice error={error} />
      <ErrorNotice error={improvementError} />
      {obstacle}
      {showQueued?.(({ text, files, modelId }) => {
        uploads.restore(files)
        models.choose(modelId)
        return draft.prepend(text)
      })}
    </>
  )
  return (
    <Composer
      field={field}
      text={draft.text}
      write={draft.write}
      uploads={uploads}
      describeObstacle={useFileFit(models)}
      placeholder={t('app.composer.placeholder')}
      submit={submit}
      notices={notices}
      hints={prompts.list}
      completion={prompts.completion}
      tools={
        <>
          <ImproveButton text={draft.text} write={draft.write} fail={setImprovementError} />
          {props.children}
        </>
      }
      editLast={props.editLast}
      sendButton={<SendOrStop isAnswering={isAnswering} canSubmit={canSubmit} stop={props.stop} />}
    />
  )
}

const PromptCompletion = lazy(async () => ({
  default: (await import('./prompts/prompt-completion.tsx')).PromptCompletion,
}))

/** Lists prompts while a line begins with a slash. */
function usePromptCompletion(
  { text, write }: { text: string; write: (text: string) => void },
  field: RefObject<HTMLTextAreaElement | null>,
) {
  const [completion, setCompletion] = useState<Completion>()
  const caret = field.current?.selectionStart ?? text.length
  const [before, after] = [text.slice(0, caret), text.slice(caret)]
  const typed = findTypedPrompt(before)
  if (typed === undefined) return {}
  const list = (
    <Suspense>
      <PromptCompletion
        typed={typed}
        before={before}
        after={after}
        field={field}
        write={write}
        report={setCompletion}
      />
    </Suspense>
  )
  return { list, completion }
}

const SendOrStop = ({
  isAnswering,
  canSubmit,
  stop,
}: {
  isAnswering: boolean
  canSubmit: boolean
  stop?: (() => void) | undefined
}) =>
  isAnswering ? (
    <>
      {canSubmit && <IconButton icon="later" label={t('app.composer.sendAfter')} type="submit" />}
      <IconButton key="stop" icon="stop" label={t('app.composer.stop')} kind="primary" onClick={stop} />
    </>
  ) : (
    <SendButton disabled={!canSubmit} />
  )

/** Returns true if a message or a waiting question of this page has a file. */
const isSentOnPage = (id: string): boolean => isInMessage(id) || queuedQuestions.hasFile(id)

/** The question that is being written. It stays in the form if it cannot be sent. */
function useQuestionForm(
  slug: string | undefined,
  { canSend, isLoading, send }: Required<Pick<QuestionComposerProps, 'canSend' | 'isLoading' | 'send'>>,
) {
  const { connection, conversationKey } = useSession()
  const draftName = getDraftName(slug)
  const draft = useDraft(conversationKey, String(connection.userinfo?.id), draftName)
  const uploads = useUploads(draftName, { isOnPage: isTemporaryDraft(draftName), isInUse: isSentOnPage })
  useAttachmentTarget('chat', uploads.add)
  const hasContent = draft.text.trim() !== '' || uploads.ids.length > 0
  const isComplete = !uploads.isUploading && hasContent
  const submit = async () => {
    await send({ text: draft.text.trim(), attachments: uploads.ids, files: uploads.files })
    draft.clear(draft.text)
    uploads.clear()
  }
  const submission = useSubmit(canSend && isComplete, submit, isLoading && isComplete)
  return { draft, uploads, ...submission }
}

interface ImproveButtonProps {
  text: string
  write: (text: string) => void
  /** Shows an error, or removes it for undefined. */
  fail: (error: unknown) => void
}

/** Rewrites the question by a model, and can undo that. It is hidden if no model is set up for the task. */
function ImproveButton({ text, write, fail }: ImproveButtonProps) {
  const task = useTask('prompt_improvement')
  const [isWorking, setWorking] = useState(false)
  const [change, setChange] = useState<{ before: string; after: string }>()
  const latest = useRef(text)
  latest.current = text
  if (!task || text.trim() === '') return null
  if (change?.after === text)
    return <IconButton icon="undo" label={t('app.improve.undo')} onClick={() => write(change.before)} />
  const improve = async () => {
    setWorking(true)
    fail(undefined)
    try {
      const after = await runTask(task, [{ role: 'user', content: [{ type: 'text', text }] }])
      // The text stays if the person has typed or sent something meanwhile.
      if (latest.current !== text) return
      setChange({ before: text, after })
      write(after)
    } catch (error) {
      fail(error)
    } finally {
      setWorking(false)
    }
  }
  return <IconButton icon="sparkle" label={t('app.improve')} disabled={isWorking} onClick={improve} />
}
