import type { ComponentProps, ReactNode } from 'react'
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
