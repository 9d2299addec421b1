import { type FormEvent, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from './button.tsx'
import styles from './edit-form.module.css'
import { ErrorMessage } from './error-message.tsx'
import { TextArea } from './input.tsx'
import { Toolbar } from './toolbar.tsx'

interface EditFormProps {
  /** The accessible name of the field. */
  label: string
  /** The text before the change. */
  text: string
  /** The label of the button that saves. */
  action: string
  /** Saves the new text. An error is shown and keeps the form open. */
  save: (text: string) => Promise<unknown> | undefined
  close: () => void
  /** True if something else than the text is saved as well. */
  canBeEmpty?: boolean
  /** Hints shown above the buttons. */
  children?: ReactNode
}

/** A form that replaces a text while it is edited, and is submitted once at a time. */
export function EditForm(props: EditFormProps) {
  const { label, text: before, action, save, close, canBeEmpty = false, children } = props
  const [text, setText] = useState(before)
  const [state, setState] = useState<'ready' | 'saving' | { error: unknown }>('ready')
  const field = useRef<HTMLTextAreaElement>(null)
  // The person has just chosen to edit, so the field takes the focus.
  useEffect(() => field.current?.focus(), [])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (state === 'saving') return
    setState('saving')
    const saving = save(text.trim())
    if (saving) await saving.then(close, (error: unknown) => setState({ error }))
    else setState('ready')
  }
  const cancelOnEscape = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.nativeEvent.isComposing) return
    // The panel around the form would close as well.
    event.stopPropagation()
    close()
  }
  return (
    <form className={styles.form} onSubmit={submit}>
      <TextArea
        className={styles.text}
        dir="auto"
        aria-label={label}
        value={text}
        ref={field}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={cancelOnEscape}
      />
      {children}
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
      <Toolbar align="end">
        <Button onClick={close}>{t('page.cancel')}</Button>
        <Button type="submit" kind="primary" disabled={(text.trim() === '' && !canBeEmpty) || state === 'saving'}>
          {action}
        </Button>
      </Toolbar>
    </form>
  )
}
