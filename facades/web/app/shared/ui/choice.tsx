import { type ComponentProps, type ReactNode, useId } from 'react'
import styles from './choice.module.css'

interface ChoiceProps extends Omit<ComponentProps<'input'>, 'type' | 'className'> {
  type?: 'checkbox' | 'radio'
  label: ReactNode
}

/** A checkbox or a radio button with its label beside it. */
export const Choice = ({ type = 'checkbox', label, ...rest }: ChoiceProps) => (
  <label className={styles.choice}>
    <input type={type} {...rest} />
    {label}
  </label>
)

/** The same with a sentence below it. */
export function ExplainedChoice({ hint, ...choice }: ChoiceProps & { hint: string }) {
  const id = useId()
  return (
    <div className={styles.explained}>
      <Choice {...choice} aria-describedby={id} />
      <p className="hint" id={id}>
        {hint}
      </p>
    </div>
  )
}

/** Check boxes or radio buttons under one label. */
export const ChoiceGroup = ({ label, children }: { label: string; children: ReactNode }) => (
  <fieldset className={styles.group}>
    <legend>{label}</legend>
    {children}
  </fieldset>
)
