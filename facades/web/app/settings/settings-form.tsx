import { type FormEvent, type ReactNode, type RefObject, useId, useRef, useState } from 'react'
import { describeError } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'

interface SettingsSectionProps {
  title: string
  /** Takes the focus when what had it is gone. */
  titleRef?: RefObject<HTMLHeadingElement | null>
  children: ReactNode
}

/** A titled part of a page of settings. */
export function SettingsSection({ title, titleRef, children }: SettingsSectionProps) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="settings-section">
      <h2 id={id} tabIndex={-1} ref={titleRef}>
        {title}
      </h2>
      {children}
    </section>
  )
}

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
  const { isBusy, outcome, isWrong, run, clear } = useAction()
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
export const readField = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '')

interface ActionState {
  isBusy: boolean
  /** How it went, in words. */
  outcome: string
  isWrong: boolean
}

const idle: ActionState = { isBusy: false, outcome: '', isWrong: false }

/** Carries out one step at a time and tells how it went; the text that a step resolves with is its outcome. */
export function useAction() {
  const [state, setState] = useState(idle)
  const isRunning = useRef(false)
  const run = async (step: () => Promise<string | undefined>): Promise<void> => {
    if (isRunning.current) return
    isRunning.current = true
    setState({ isBusy: true, outcome: t('page.working'), isWrong: false })
    try {
      setState({ ...idle, outcome: (await step()) ?? '' })
    } catch (error) {
      setState({ isBusy: false, outcome: describeError(error), isWrong: true })
    } finally {
      isRunning.current = false
    }
  }
  /** What was said of other values does not hold for these. */
  const clear = () => setState((before) => (before.isBusy ? before : idle))
  return { ...state, run, clear }
}

/** Says how a step went. */
export const Outcome = ({ outcome, isWrong }: Pick<ActionState, 'outcome' | 'isWrong'>) => (
  <p className={isWrong ? 'outcome wrong' : 'outcome'} role="status">
    {outcome}
  </p>
)
