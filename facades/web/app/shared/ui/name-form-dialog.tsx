import { useId, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from './button.tsx'
import { ErrorMessage } from './error-message.tsx'
import { LabelledField } from './field.tsx'
import { FormDialog } from './form-dialog.tsx'
import { Input } from './input.tsx'

export interface NameDialogProps {
  title: string
  name: string
  hint?: string
  /** Suggests a name on demand. */
  suggest?: (() => Promise<string>) | false | undefined
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
  const list = useId()
  const suggestName = async (find: () => Promise<string>) => {
    setWorking(true)
    setError(undefined)
    await find().then(setValue, setError)
    setWorking(false)
  }
  return (
    <FormDialog title={title} save={() => save(value.trim())} close={close}>
      <LabelledField label={t('app.name')} hint={hint}>
        {(control) => (
          <>
            <Input
              {...control}
              value={value}
              onChange={(event) => setValue(event.target.value)}
              maxLength={120}
              // Requires more than blanks.
              pattern=".*\S.*"
              required
              dir="auto"
              {...(suggestions.length > 0 && { list })}
              autoComplete="off"
            />
            <datalist id={list}>
              {suggestions.map((each) => (
                <option key={each} value={each} />
              ))}
            </datalist>
            {suggest && (
              <Button kind="plain" disabled={isWorking} onClick={() => suggestName(suggest)}>
                {t(isWorking ? 'page.working' : 'app.name.suggest')}
              </Button>
            )}
          </>
        )}
      </LabelledField>
      <ErrorMessage error={error} />
    </FormDialog>
  )
}
