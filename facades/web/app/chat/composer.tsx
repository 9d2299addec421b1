import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import {
  AttachButton,
  createDropHandlers,
  MessageField,
  SendButton,
  useDraft,
  useQuotations,
} from '../shared/message-field.tsx'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon.tsx'
import { UploadList, useUploads } from '../shared/uploads.tsx'
import type { Question } from './chat-requests.ts'
import { runTask, useTask } from './tasks.ts'

interface ComposerProps {
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
export function Composer({ slug, canSend, isAnswering = false, obstacle, send, stop, children }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const { draft, uploads, error, canSubmit, submit } = useQuestionForm(slug, canSend && !isAnswering, send)
  const [improvementError, setImprovementError] = useState<unknown>()
  useQuotations('chat', draft, field)
  return (
    <form className="composer" onSubmit={submit} {...createDropHandlers(uploads.add)}>
      <ErrorMessage error={error} className="notice wrong" />
      <ErrorMessage error={improvementError} className="notice wrong" />
      {obstacle}
      <div className="composer-field">
        <UploadList uploads={uploads.uploads} remove={uploads.remove} />
        <MessageField
          field={field}
          text={draft.text}
          placeholder={t('app.composer.placeholder')}
          write={draft.write}
          addFiles={uploads.add}
        />
        <div className="composer-tools">
          <AttachButton add={uploads.add} />
          <ImproveButton text={draft.text} write={draft.write} fail={setImprovementError} />
          {children}
          <span className="spacer" />
          <SendOrStop isAnswering={isAnswering} canSubmit={canSubmit} stop={stop} />
        </div>
      </div>
    </form>
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
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const hasContent = draft.text.trim() !== '' || uploads.ids.length > 0
  const canSubmit = canSend && !uploads.isUploading && state !== 'sending' && hasContent
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!canSubmit) return
    setState('sending')
    try {
      await send({ text: draft.text.trim(), attachments: uploads.ids })
      draft.clear(draft.text)
      uploads.clear()
      setState('ready')
    } catch (error) {
      setState({ error })
    }
  }
  const error = typeof state === 'object' ? state.error : undefined
  return { draft, uploads, error, canSubmit, submit }
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
      // What was typed or sent meanwhile is not replaced.
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
