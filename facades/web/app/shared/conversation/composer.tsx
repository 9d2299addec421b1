import {
  type ClipboardEvent,
  type DragEvent,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react'
import type { ConversationKey } from '../conversation-key.ts'
import { t } from '../text/labels.ts'
import { IconButton } from '../ui/icon.tsx'
import { UploadList, type Uploads } from '../uploads.tsx'

type AddFiles = (files: Iterable<File>) => void

interface ComposerProps {
  field: RefObject<HTMLTextAreaElement | null>
  text: string
  write: (text: string) => void
  uploads: Uploads
  placeholder: string
  submit: (event: FormEvent) => Promise<void>
  /** Notices above the field. */
  notices: ReactNode
  /** Hints and suggestions within the frame of the field. */
  hints?: ReactNode
  /** More buttons below the field. */
  tools?: ReactNode
  sendButton: ReactNode
}

/** The form in which a message is written, with its files. */
export const Composer = (props: ComposerProps) => {
  const { field, text, write, uploads, placeholder, submit, notices, hints, tools, sendButton } = props
  return (
    <form className="composer" onSubmit={(event) => void submit(event)} {...createDropHandlers(uploads.add)}>
      {notices}
      <div className="composer-field">
        <UploadList uploads={uploads.uploads} remove={uploads.remove} />
        {hints}
        <MessageField field={field} text={text} placeholder={placeholder} write={write} addFiles={uploads.add} />
        <div className="composer-tools">
          <AttachButton add={uploads.add} />
          {tools}
          <span className="spacer" />
          {sendButton}
        </div>
      </div>
    </form>
  )
}

/** Submits a form once at a time, and keeps the error. */
export function useSubmit(canSend: boolean, send: () => Promise<void>) {
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const canSubmit = canSend && state !== 'sending'
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!canSubmit) return
    setState('sending')
    await send().then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  return { canSubmit, submit, error: typeof state === 'object' ? state.error : undefined }
}

interface MessageFieldProps {
  field: Ref<HTMLTextAreaElement>
  text: string
  placeholder: string
  write: (text: string) => void
  /** Receives pasted content that is no text. */
  addFiles: AddFiles
}

/** The field in which a message is written. */
const MessageField = ({ field, text, placeholder, write, addFiles }: MessageFieldProps) => (
  <textarea
    ref={field}
    rows={1}
    dir="auto"
    value={text}
    aria-label={t('app.composer.message')}
    placeholder={placeholder}
    onChange={(event) => write(event.target.value)}
    onPaste={(event) => pasteFiles(event, addFiles)}
    onKeyDown={submitOnEnter}
  />
)

function AttachButton({ add }: { add: AddFiles }) {
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

export const SendButton = ({ disabled }: { disabled: boolean }) => (
  <IconButton
    key="send"
    icon="arrowUp"
    label={t('app.composer.send')}
    className="primary"
    type="submit"
    disabled={disabled}
  />
)

/**
 * Attaches pasted pictures and files. Content that is text as well, such as cells of a spreadsheet, is pasted as text.
 */
function pasteFiles(event: ClipboardEvent, add: AddFiles): void {
  const { files, types } = event.clipboardData
  if (files.length === 0 || types.includes('text/plain')) return
  event.preventDefault()
  add([...files])
}

/** Returns handlers that attach files dropped on a form. */
const createDropHandlers = (add: AddFiles) => ({
  onDragOver: (event: DragEvent) => event.preventDefault(),
  onDrop: (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return
    event.preventDefault()
    add([...event.dataTransfer.files])
  },
})

/**
 * Submits the form on Enter, except for the Enter that ends a composition of an input method, and on touch keyboards.
 */
function submitOnEnter(event: KeyboardEvent<HTMLTextAreaElement>): void {
  const { key, shiftKey, nativeEvent, currentTarget } = event
  if (key !== 'Enter' || shiftKey || nativeEvent.isComposing || nativeEvent.keyCode === 229 || isTouch.matches) return
  event.preventDefault()
  currentTarget.form?.requestSubmit()
}

const isTouch = matchMedia('(pointer: coarse) and (hover: none)')

const SAVE_DELAY_MS = 250

const getDraftKey = (owner: string, slug: string | undefined) => `svc:draft:${owner}:${slug ?? 'new'}`

/** Keeps the text that is being written in a conversation, encrypted in this browser, so that it survives a reload. */
export function useDraft(key: ConversationKey, owner: string, slug: string | undefined) {
  const storageKey = getDraftKey(owner, slug)
  const [text, setText] = useState('')
  const latest = useRef('')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  latest.current = text
  useEffect(() => {
    const sealed = localStorage.getItem(storageKey)
    if (sealed === null) return
    key.open(sealed).then(
      (draft) => setText((current) => current || draft),
      // The draft was encrypted with an earlier key, which no longer exists.
      () => localStorage.removeItem(storageKey),
    )
  }, [key, storageKey])
  const save = async (draft: string) => {
    const sealed = draft.trim() === '' ? undefined : await key.seal(draft)
    // It may have been sent meanwhile.
    if (latest.current !== draft) return
    if (sealed === undefined) localStorage.removeItem(storageKey)
    else localStorage.setItem(storageKey, sealed)
  }
  const write = (next: string) => {
    latest.current = next
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => void save(next), SAVE_DELAY_MS)
  }
  /** Clears the draft that was sent, unless something else was written meanwhile. */
  const clear = (sent: string) => {
    if (latest.current !== sent) return
    latest.current = ''
    setText('')
    clearTimeout(timer.current)
    localStorage.removeItem(storageKey)
  }
  return { text, write, clear }
}

/** The fields that a quotation can be inserted into. */
type FieldName = 'chat' | 'room' | 'thread'

const quotationTargets = new Map<FieldName, (quotation: string) => void>()

/** Inserts a text as a quotation into the field for the next message. */
export function insertQuotation(field: FieldName, text: string): void {
  quotationTargets.get(field)?.(text.replace(/^/gm, '> '))
}

interface Draft {
  text: string
  write: (text: string) => void
}

/** Inserts quotations above the text of a draft. */
export function useQuotations(field: FieldName, draft: Draft, element: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const insert = (quotation: string) => {
      draft.write(`${quotation}\n\n${draft.text}`)
      element.current?.focus()
    }
    quotationTargets.set(field, insert)
    return () => {
      if (quotationTargets.get(field) === insert) quotationTargets.delete(field)
    }
  }, [field, draft, element])
}
