import { type ClipboardEvent, type DragEvent, type KeyboardEvent, type Ref, useRef } from 'react'
import { t } from '../text/labels.ts'
import { IconButton } from '../ui/icon-button.tsx'

type AddFiles = (files: Iterable<File>) => void

interface MessageFieldProps {
  field: Ref<HTMLTextAreaElement>
  text: string
  placeholder: string
  write: (text: string) => void
  /** Takes what is pasted that is no text. */
  addFiles: AddFiles
}

/** Where a message is written. */
export const MessageField = ({ field, text, placeholder, write, addFiles }: MessageFieldProps) => (
  <textarea
    ref={field}
    rows={1}
    dir="auto"
    value={text}
    aria-label={t('app.composer.message')}
    placeholder={placeholder}
    onChange={(event) => write(event.target.value)}
    onPaste={(event) => pasteFiles(event, addFiles)}
    onKeyDown={sendByKey}
  />
)

export function AttachButton({ add }: { add: AddFiles }) {
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

/** Takes pictures and files. What is a text as well, as from a spreadsheet, is pasted as the text. */
function pasteFiles(event: ClipboardEvent, add: AddFiles): void {
  const { files, types } = event.clipboardData
  if (files.length === 0 || types.includes('text/plain')) return
  event.preventDefault()
  add([...files])
}

/** Takes files that are dropped on a form. */
export const dropTarget = (add: AddFiles) => ({
  onDragOver: (event: DragEvent) => event.preventDefault(),
  onDrop: (event: DragEvent) => {
    if (event.dataTransfer.files.length === 0) return
    event.preventDefault()
    add([...event.dataTransfer.files])
  },
})

/** Sends by Enter, but not by the one that ends the input of a character by an editor of the system, nor on a touch keyboard. */
function sendByKey(event: KeyboardEvent<HTMLTextAreaElement>): void {
  const { key, shiftKey, nativeEvent, currentTarget } = event
  if (key !== 'Enter' || shiftKey || nativeEvent.isComposing || nativeEvent.keyCode === 229 || isTouch.matches) return
  event.preventDefault()
  currentTarget.form?.requestSubmit()
}

const isTouch = matchMedia('(pointer: coarse) and (hover: none)')
