import { useId, useState } from 'react'
import { t } from '../text/labels.ts'
import { ErrorMessage } from './error-message.tsx'
import { FormDialog } from './form-dialog.tsx'

export interface NameDialogProps {
  title: string
  name: string
  hint?: string
  /** Suggests a name on demand. */
  suggest?: (() => Promise<string>) | undefined
  /** Existing names to choose from. */
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
  const suggestName = async (find: () => Promise<string>) => {
    setWorking(true)
    await find().then(setValue, setError)
    setWorking(false)
  }
  return (
    <FormDialog title={title} save={() => save(value.trim())} close={close}>
      <div className="field">
        <label htmlFor={id}>{t('app.name')}</label>
        <input
          id={id}
          value={value}
          onChange={(event) => setValue(event.target.value)}
          maxLength={120}
          // Requires more than blanks.
          pattern=".*\S.*"
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
          <button type="button" className="plain-button" disabled={isWorking} onClick={() => suggestName(suggest)}>
            {t(isWorking ? 'page.working' : 'app.name.suggest')}
          </button>
        )}
        {hint && <p className="hint">{hint}</p>}
        <ErrorMessage error={error} />
      </div>
    </FormDialog>
  )
}
