import type { ComponentProps } from 'react'
import styles from './button.module.css'
import { joinClasses } from './class-names.ts'

/** A page has one primary button at most. A plain button looks like a link within a text. */
export type ButtonKind = 'primary' | 'quiet' | 'danger' | 'plain'

export interface ButtonProps extends ComponentProps<'button'> {
  kind?: ButtonKind | undefined
}

/** A button that submits no form unless its type says so. */
export const Button = ({ kind = 'quiet', className, ...rest }: ButtonProps) => (
  <button type="button" className={joinClasses(styles[kind], className)} {...rest} />
)

/** Returns the class of links and labels that look like a button. */
export const getButtonClass = (kind: ButtonKind = 'quiet') => styles[kind]
