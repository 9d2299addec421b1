import { Dialog } from '@base-ui/react/dialog'
import { type FormEvent, useId, useState } from 'react'
import { errorText } from '../api/error-text.ts'
import { t } from '../text/labels.ts'

export interface NameDialogProps {
  title: string
  name: string
  /** What is to be known about the name. */
  hint?: string
  /** Finds a name, where somebody asks for one. */
  suggest?: (() => Promise<string>) | undefined
  /** Names that there are already, to choose from. */
  suggestions?: readonly string[]
  save: (name: string) => Promise<void>
  close: () => void
}

/** Asks for a name. */
export function NameFormDialog({ title, name, hint, suggest, suggestions = [], save, close }: NameDialogProps) {
  const [value, setValue] = useState(name)
  const [isWorking, setWorking] = useState(false)
  const [error, setError] = useState<unknown>()
  const id = useId()
  const propose = async (find: () => Promise<string>) => {
    setWorking(true)
    await find().then(setValue, setError)
    setWorking(false)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (value.trim() !== '') await save(value.trim()).then(close, setError)
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
                value={value}
                onChange={(event) => setValue(event.target.value)}
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
              {suggest && (
                <button type="button" className="plain-button" disabled={isWorking} onClick={() => propose(suggest)}>
                  {t(isWorking ? 'page.working' : 'app.name.suggest')}
                </button>
              )}
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
