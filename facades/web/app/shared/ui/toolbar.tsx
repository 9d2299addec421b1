import type { ComponentProps } from 'react'
import { joinClasses } from './class-names.ts'
import styles from './toolbar.module.css'

interface ToolbarProps extends ComponentProps<'div'> {
  /** The buttons of a form or a dialog stand at its end. */
  align?: 'start' | 'end'
}

/** Buttons in a row, which wraps. */
export const Toolbar = ({ align = 'start', className, ...rest }: ToolbarProps) => (
  <div className={joinClasses(styles[align], className)} {...rest} />
)
