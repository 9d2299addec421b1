import {
  type ClipboardEvent,
  type FormEvent,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from 'react'
import { t } from '../text/labels.ts'
import { IconButton } from '../ui/icon-button.tsx'
import { type DescribeObstacle, UploadList } from '../upload-list.tsx'
import type { Uploads } from '../uploads.ts'
import styles from './composer.module.css'
import { FileDrop } from './file-drop.tsx'
import { usePasteOffer } from './paste-offer.tsx'

type AddFiles = (files: Iterable<File>) => void

interface ComposerProps {
  field: RefObject<HTMLTextAreaElement | null>
  text: string
  write: (text: string) => void
  uploads: Uploads
  describeObstacle?: DescribeObstacle | undefined
  placeholder: string
  submit: (event: FormEvent) => Promise<void>
  /** Notices above the field. */
  notices: ReactNode
  /** Hints and suggestions within the frame of the field. */
  hints?: ReactNode
  /** More buttons below the field. */
  tools?: ReactNode
  sendButton: ReactNode
  /** Suggestions for the word before the caret, which get the keys first. */
  completion?: Completion | undefined
  /** Runs when the arrow up key is pressed in the empty field. */
  editLast?: (() => void) | undefined
}

/** A list of suggestions for a field, which keeps the focus. */
export interface Completion {
  listId: string
  /** The id of the highlighted suggestion. */
  activeId: string
  /** Prevents the default action of keys that it uses. */
  handleKey: (event: KeyboardEvent<HTMLTextAreaElement>) => void
}

/** The form in which a message is written, with its files. */
export function Composer(props: ComposerProps) {
  const { field, text, write, uploads, describeObstacle, placeholder, submit, completion, editLast } = props
  const form = useRef<HTMLFormElement>(null)
  const { takePasted, offer } = usePasteOffer({
    text,
    write,
    addText: uploads.addText,
    focus: () => field.current?.focus(),
  })
  return (
    <form className={styles.composer} ref={form} onSubmit={(event) => void submit(event)}>
      {props.notices}
      <div className={styles.frame}>
        <UploadList uploads={uploads.uploads} remove={uploads.remove} describeObstacle={describeObstacle} />
        {offer}
        {props.hints}
        <MessageField
          field={field}
          text={text}
          placeholder={placeholder}
          write={write}
          addFiles={uploads.add}
          takePasted={takePasted}
          completion={completion}
          editLast={editLast}
        />
        <div className={styles.tools}>
          <AttachButton add={uploads.add} />
          {props.tools}
          <span className={styles.spacer} />
          {props.sendButton}
        </div>
      </div>
      <FileDrop form={form} add={uploads.add} />
    </form>
  )
}

/** Submits a form once at a time, and keeps the error. What is submitted while the page still loads is sent afterwards. */
export function useSubmit(canSend: boolean, send: () => Promise<void>, isLoading = false) {
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const [isRequested, setRequested] = useState(false)
  const canSubmit = (canSend || isLoading) && state !== 'sending'
  const run = () => {
    setState('sending')
    return send().then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  const latest = useRef(run)
  latest.current = run
  useEffect(() => {
    if (!isRequested || isLoading) return
    setRequested(false)
    if (canSend) void latest.current()
  }, [isRequested, isLoading, canSend])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!canSubmit) return
    if (isLoading) setRequested(true)
    else await run()
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
  /** Is told of a text that was pasted. */
  takePasted: (text: string) => void
  completion: Completion | undefined
  editLast: ComposerProps['editLast']
}

/** The field in which a message is written. */
const MessageField = ({ field, text, placeholder, write, completion, editLast, ...paste }: MessageFieldProps) => (
  <textarea
    className={styles.field}
    ref={field}
    rows={1}
    dir="auto"
    value={text}
    aria-label={t('app.composer.message')}
    placeholder={placeholder}
    aria-autocomplete={completion && 'list'}
    aria-controls={completion?.listId}
    aria-activedescendant={completion?.activeId}
    onChange={(event) => write(event.target.value)}
    onPaste={(event) => takePaste(event, paste)}
    onKeyDown={(event) => {
      completion?.handleKey(event)
      if (event.defaultPrevented) return
      submitOnEnter(event)
      if (event.key !== 'ArrowUp' || text !== '' || !editLast) return
      event.preventDefault()
      editLast()
    }}
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
    kind="primary"
    type="submit"
    disabled={disabled}
  />
)

/**
 * Attaches pasted pictures and files. Content that is text as well, such as cells of a spreadsheet, is pasted as text.
 */
function takePaste(
  event: ClipboardEvent,
  { addFiles, takePasted }: Pick<MessageFieldProps, 'addFiles' | 'takePasted'>,
): void {
  const text = event.clipboardData.getData('text/plain')
  const { files } = event.clipboardData
  takePasted(text)
  if (files.length === 0 || text !== '') return
  event.preventDefault()
  addFiles([...files])
}

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

/** The fields that a quotation can be inserted into. */
type FieldName = 'chat' | 'room' | 'thread'

const focusTargets = new Map<FieldName, HTMLElement>()

/** Moves the focus to a field, if it is shown. Touch keyboards would cover what is read. */
export function focusField(name: FieldName): void {
  if (!isTouch.matches) focusTargets.get(name)?.focus({ preventScroll: true })
}

/** Lets a field have the focus when it appears, and on request. */
export function useFieldFocus(name: FieldName, field: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = field.current
    if (!element) return
    focusTargets.set(name, element)
    focusField(name)
    return () => {
      if (focusTargets.get(name) === element) focusTargets.delete(name)
    }
  }, [name, field])
}

const insertionTargets = new Map<FieldName, (text: string) => void>()

/** Inserts a text into the field for the next message, above what it has. */
export function insertText(field: FieldName, text: string): void {
  insertionTargets.get(field)?.(text)
}

/** Inserts a text as a quotation into the field for the next message. */
export const insertQuotation = (field: FieldName, text: string): void =>
  insertText(field, `${text.replace(/^/gm, '> ')}\n\n`)

const attachmentTargets = new Map<FieldName, AddFiles>()

/** Attaches files to the next message. */
export const attachFiles = (field: FieldName, files: readonly File[]): void => attachmentTargets.get(field)?.(files)

/** Lets files be attached to the next message from elsewhere on the page. */
export function useAttachmentTarget(field: FieldName, add: AddFiles): void {
  useEffect(() => {
    attachmentTargets.set(field, add)
    return () => {
      if (attachmentTargets.get(field) === add) attachmentTargets.delete(field)
    }
  }, [field, add])
}

interface Draft {
  text: string
  write: (text: string) => void
}

/** Inserts texts above the text of a draft. */
export function useInsertions(field: FieldName, draft: Draft, element: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const insert = (text: string) => {
      draft.write(text + draft.text)
      element.current?.focus()
    }
    insertionTargets.set(field, insert)
    return () => {
      if (insertionTargets.get(field) === insert) insertionTargets.delete(field)
    }
  }, [field, draft, element])
}
