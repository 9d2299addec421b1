import { type FormEvent, type ReactNode, useState } from 'react'
import { t } from '../text/labels.ts'
import { ErrorMessage } from './error-message.tsx'

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
  /** Hints shown above the buttons. */
  children?: ReactNode
}

/** A form that replaces a text while it is edited. */
export function EditForm({ label, text: before, action, save, close, children }: EditFormProps) {
  const [text, setText] = useState(before)
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    await save(text.trim())?.then(close, setError)
  }
  return (
    <form className="edit-form" onSubmit={submit}>
      <textarea
        className="text-field"
        dir="auto"
        aria-label={label}
        value={text}
        // The person has just chosen to edit, so the field takes the focus.
        ref={(field) => field?.focus()}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={(event) => event.key === 'Escape' && close()}
      />
      {children}
      <ErrorMessage error={error} />
      <p className="actions">
        <button type="button" className="quiet-button" onClick={close}>
          {t('page.cancel')}
        </button>
        <button type="submit" className="button" disabled={text.trim() === ''}>
          {action}
        </button>
      </p>
    </form>
  )
}
