import { type FormEvent, type ReactNode, useState } from 'react'
import { t } from '../text/labels.ts'
import { ErrorMessage } from './error-message.tsx'

interface EditFormProps {
  /** Says what is edited. */
  label: string
  /** What stands there before. */
  text: string
  /** What the button says that saves. */
  action: string
  /** Takes the new text; what it throws is shown, and the form stays. */
  save: (text: string) => Promise<unknown> | undefined
  close: () => void
  /** What is to be known before it is saved. */
  children?: ReactNode
}

/** Edits a text where it stands. */
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
        // The person has just asked to write here.
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
