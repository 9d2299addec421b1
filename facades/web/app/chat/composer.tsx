import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import type { Question } from './ask.ts'
import { useDraft } from './drafts.ts'
import { ImproveButton } from './improve-button.tsx'
import { onQuote } from './quote.ts'
import { UploadList } from './upload-list.tsx'
import { useUploads } from './uploads.ts'

interface ComposerProps {
  /** Of the conversation; undefined where it is still to be created. */
  slug: string | undefined
  canSend: boolean
  isAnswering?: boolean
  /** Why nothing can be sent, where there is a reason to tell. */
  obstacle?: ReactNode
  send: (question: Question) => Promise<void>
  stop?: () => void
  /** Further controls beside the field. */
  children?: ReactNode
}

/** Where a question is written. */
export function Composer({ slug, canSend, isAnswering = false, obstacle, send, stop, children }: ComposerProps) {
  const form = useRef<HTMLFormElement>(null)
  const field = useRef<HTMLTextAreaElement>(null)
  const { draft, uploads, error, maySend, submit, fail } = useQuestion(slug, canSend && !isAnswering, send)
  useQuotations(draft, field)
  return (
    <form className="composer" ref={form} onSubmit={submit} {...dropTarget(uploads.add)}>
      {error !== undefined && (
        <p className="notice wrong" role="alert">
          {errorText(error)}
        </p>
      )}
      {obstacle}
      <div className="composer-field">
        <UploadList uploads={uploads.uploads} remove={uploads.remove} />
        <textarea
          ref={field}
          rows={1}
          dir="auto"
          value={draft.text}
          aria-label={t('app.composer.message')}
          placeholder={t('app.composer.placeholder')}
          onChange={(event) => draft.write(event.target.value)}
          onPaste={(event) => pasteFiles(event, uploads.add)}
          onKeyDown={(event) => sendByKey(event, form.current)}
        />
        <div className="composer-tools">
          <AttachButton add={uploads.add} />
          <ImproveButton text={draft.text} write={draft.write} fail={fail} />
          {children}
          <span className="spacer" />
          <SendOrStop isAnswering={isAnswering} maySend={maySend} stop={stop} />
        </div>
      </div>
    </form>
  )
}

const SendOrStop = ({
  isAnswering,
  maySend,
  stop,
}: {
  isAnswering: boolean
  maySend: boolean
  stop?: (() => void) | undefined
}) =>
  isAnswering ? (
    <IconButton key="stop" icon="stop" label={t('app.composer.stop')} className="primary" onClick={stop} />
  ) : (
    <IconButton
      key="send"
      icon="arrowUp"
      label={t('app.composer.send')}
      className="primary"
      type="submit"
      disabled={!maySend}
    />
  )

/** What is being written, and its way out. What could not be sent stays where it is. */
function useQuestion(slug: string | undefined, canSend: boolean, send: (question: Question) => Promise<void>) {
  const { connection, conversationKey } = useSession()
  const draft = useDraft(conversationKey, String(connection.userinfo?.id), slug)
  const uploads = useUploads()
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const hasContent = draft.text.trim() !== '' || uploads.ids.length > 0
  const maySend = canSend && !uploads.isUploading && state !== 'sending' && hasContent
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!maySend) return
    setState('sending')
    try {
      await send({ text: draft.text.trim(), attachments: uploads.ids })
      draft.clear()
      uploads.clear()
      setState('ready')
    } catch (error) {
      setState({ error })
    }
  }
  const error = typeof state === 'object' ? state.error : undefined
  return { draft, uploads, error, maySend, submit, fail: (thrown: unknown) => setState({ error: thrown }) }
}

/** Puts what somebody quotes before what they have written. */
function useQuotations(draft: ReturnType<typeof useDraft>, field: { current: HTMLTextAreaElement | null }): void {
  useEffect(
    () =>
      onQuote((quotation) => {
        draft.write(`${quotation}\n\n${draft.text}`)
        field.current?.focus()
      }),
    [draft, field],
  )
}

function AttachButton({ add }: { add: (files: Iterable<File>) => void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          add([...(target.files ?? [])])
          target.value = ''
        }}
      />
      <IconButton icon="attach" label={t('app.files.attach')} onClick={() => input.current?.click()} />
    </>
  )
}

/** Takes pictures and files. What is a text as well, as from a spreadsheet, is pasted as the text. */
function pasteFiles(event: ClipboardEvent, add: (files: Iterable<File>) => void): void {
  const { files, types } = event.clipboardData
  if (files.length === 0 || types.includes('text/plain')) return
  event.preventDefault()
  add([...files])
}

const dropTarget = (add: (files: Iterable<File>) => void) => ({
  onDragOver: (event: DragEvent) => event.preventDefault(),
  onDrop: (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return
    event.preventDefault()
    add([...event.dataTransfer.files])
  },
})

/** Sends by Enter, but not by the one that ends the input of a character by an editor of the system, nor on a touch keyboard. */
function sendByKey(event: KeyboardEvent, form: HTMLFormElement | null): void {
  const { key, shiftKey, nativeEvent } = event
  if (key !== 'Enter' || shiftKey || nativeEvent.isComposing || nativeEvent.keyCode === 229 || isTouch.matches) return
  event.preventDefault()
  form?.requestSubmit()
}

const isTouch = matchMedia('(pointer: coarse) and (hover: none)')
