import type { FormEvent, ReactNode } from 'react'
import { Outcome } from './outcome.tsx'
import { useStep } from './use-step.ts'

interface SettingsFormProps {
  label: string
  submitText: string
  /** What it does with what was entered; the text that it resolves with says how it went. */
  submit: (form: HTMLFormElement) => Promise<string | undefined>
  children: ReactNode
  /** What comes of it, below the form. */
  result?: ReactNode
}

/** A form that is sent once at a time. */
export function SettingsForm({ label, submitText, submit, children, result }: SettingsFormProps) {
  const { isBusy, outcome, isWrong, run, clear } = useStep()
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    void run(() => submit(form))
  }
  return (
    <form className="settings-form" aria-label={label} aria-busy={isBusy} onSubmit={send} onChange={clear}>
      {children}
      <p>
        {/* `disabled` would take the focus away. */}
        <button type="submit" className="button" aria-disabled={isBusy}>
          {submitText}
        </button>
      </p>
      <Outcome outcome={outcome} isWrong={isWrong} />
      {result}
    </form>
  )
}

/** What was entered into a field of a form. */
export const entered = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '')
