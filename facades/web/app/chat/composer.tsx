import { type ReactNode, useRef, useState } from 'react'
import { Composer, SendButton, useDraft, useQuotations, useSubmit } from '../shared/conversation/composer.tsx'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon.tsx'
import { useUploads } from '../shared/uploads.tsx'
import type { Question } from './chat-requests.ts'
import { runTask, useTask } from './tasks.ts'

interface QuestionComposerProps {
  /** The conversation; undefined before it is created. */
  slug: string | undefined
  canSend: boolean
  isAnswering?: boolean
  /** Notices that explain why nothing can be sent. */
  obstacle?: ReactNode
  send: (question: Question) => Promise<void>
  stop?: () => void
  /** More buttons below the field. */
  children?: ReactNode
}

/** The form in which a question is written. */
export function QuestionComposer(props: QuestionComposerProps) {
  const { slug, canSend, isAnswering = false, obstacle, send, stop, children } = props
  const field = useRef<HTMLTextAreaElement>(null)
  const { draft, uploads, error, canSubmit, submit } = useQuestionForm(slug, canSend && !isAnswering, send)
  const [improvementError, setImprovementError] = useState<unknown>()
  useQuotations('chat', draft, field)
  const notices = (
    <>
      <ErrorMessage error={error} className="notice wrong" />
      <ErrorMessage error={improvementError} className="notice wrong" />
      {obstacle}
    </>
  )
  const tools = (
    <>
      <ImproveButton text={draft.text} write={draft.write} fail={setImprovementError} />
      {children}
    </>
  )
  return (
    <Composer
      field={field}
      text={draft.text}
      write={draft.write}
      uploads={uploads}
      placeholder={t('app.composer.placeholder')}
      submit={submit}
      notices={notices}
      tools={tools}
      sendButton={<SendOrStop isAnswering={isAnswering} canSubmit={canSubmit} stop={stop} />}
    />
  )
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
    <IconButton key="stop" icon="stop" label={t('app.composer.stop')} className="primary" onClick={stop} />
  ) : (
    <SendButton disabled={!canSubmit} />
  )

/** The question that is being written. It stays in the form if it cannot be sent. */
function useQuestionForm(slug: string | undefined, canSend: boolean, send: (question: Question) => Promise<void>) {
  const { connection, conversationKey } = useSession()
  const draft = useDraft(conversationKey, String(connection.userinfo?.id), slug)
  const uploads = useUploads()
  const hasContent = draft.text.trim() !== '' || uploads.ids.length > 0
  const submission = useSubmit(canSend && !uploads.isUploading && hasContent, async () => {
    await send({ text: draft.text.trim(), attachments: uploads.ids })
    draft.clear(draft.text)
    uploads.clear()
  })
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
