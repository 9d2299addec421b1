import { Dialog } from '@base-ui/react/dialog'
import { type FormEvent, useId, useState } from 'react'
import { errorText } from '../api/error-text.ts'
import { t } from '../text/labels.ts'

export interface NameDialogProps {
  title: string
  name: string
  /** What is to be known about the name. */
  hint?: string
  /** Names that there are already, to choose from. */
  suggestions?: readonly string[]
  save: (name: string) => Promise<void>
  close: () => void
}

/** Asks for a name. */
export function NameFormDialog({ title, name, hint, suggestions = [], save, close }: NameDialogProps) {
  const [error, setError] = useState<unknown>()
  const id = useId()
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const given = String(new FormData(event.currentTarget).get('name') ?? '').trim()
    if (given !== '') await save(given).then(close, setError)
  }
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{title}</Dialog.Title>
          <form className="dialog-form" onSubmit={submit}>
            <div className="field">
              <label htmlFor={id}>{t('app.name')}</label>
              <input
                id={id}
                name="name"
                defaultValue={name}
                maxLength={120}
                required
                dir="auto"
                {...(suggestions.length > 0 && { list: `${id}-list` })}
                autoComplete="off"
              />
              <datalist id={`${id}-list`}>
                {suggestions.map((each) => (
                  <option key={each} value={each} />
                ))}
              </datalist>
              {hint && <p className="hint">{hint}</p>}
            </div>
            {error !== undefined && (
              <p className="wrong" role="alert">
                {errorText(error)}
              </p>
            )}
            <p className="actions">
              <Dialog.Close className="quiet-button">{t('page.cancel')}</Dialog.Close>
              <button type="submit" className="button">
                {t('app.save')}
              </button>
            </p>
          </form>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
