import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { describeError } from '../api/error-text.ts'
import { t } from '../text/labels.ts'
import styles from './action-form.module.css'
import { Button } from './button.tsx'
import { joinClasses } from './class-names.ts'

interface ActionFormProps {
  id?: string
  label: string
  submitText: string
  kind?: 'primary' | 'quiet'
  /** Submits the form; returns a text about the result. */
  submit: (form: HTMLFormElement) => Promise<string | undefined>
  children?: ReactNode
  /** Content below the form, such as a created secret. */
  result?: ReactNode
}

/** A form that is submitted once at a time. */
export function ActionForm({ id, label, submitText, kind = 'primary', submit, children, result }: ActionFormProps) {
  const { isBusy, outcome, isWrong, run, clear } = useAction()
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    void run(() => submit(form))
  }
  return (
    <form className={styles.form} id={id} aria-label={label} aria-busy={isBusy} onSubmit={send} onChange={clear}>
      {children}
      <p>
        {/* A disabled button would lose the focus. */}
        <Button type="submit" kind={kind} aria-disabled={isBusy}>
          {submitText}
        </Button>
      </p>
      <Outcome outcome={outcome} isWrong={isWrong} />
      {result}
    </form>
  )
}

export const readField = (form: HTMLFormElement, name: string): string => String(new FormData(form).get(name) ?? '')

interface ActionState {
  isBusy: boolean
  /** A text about the result. */
  outcome: string
  isWrong: boolean
}

const idle: ActionState = { isBusy: false, outcome: '', isWrong: false }

/** Runs one action at a time, and keeps the text about its result. */
export function useAction() {
  const [state, setState] = useState(idle)
  const isRunning = useRef(false)
  const run = async (action: () => Promise<string | undefined>): Promise<void> => {
    if (isRunning.current) return
    isRunning.current = true
    setState({ isBusy: true, outcome: t('page.working'), isWrong: false })
    try {
      setState({ ...idle, outcome: (await action()) ?? '' })
    } catch (error) {
      setState({ isBusy: false, outcome: describeError(error), isWrong: true })
    } finally {
      isRunning.current = false
    }
  }
  /** Clears the outcome when the form changes, as it belongs to the earlier values. */
  const clear = () => setState((before) => (before.isBusy ? before : idle))
  return { ...state, run, clear }
}

/** Shows the result of an action. */
export const Outcome = ({ outcome, isWrong }: Pick<ActionState, 'outcome' | 'isWrong'>) => (
  <p className={joinClasses(styles.outcome, isWrong && 'error')} role="status">
    {outcome}
  </p>
)
