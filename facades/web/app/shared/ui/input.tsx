import type { ComponentProps } from 'react'
import { joinClasses } from './class-names.ts'
import styles from './input.module.css'

/** A field for a line of text, a number or a date. */
export const Input = ({ className, ...rest }: ComponentProps<'input'>) => (
  <input className={joinClasses(styles.input, className)} {...rest} />
)

/** A field for several lines of text. */
export const TextArea = ({ className, ...rest }: ComponentProps<'textarea'>) => (
  <textarea className={joinClasses(styles.input, styles.area, className)} {...rest} />
)

/** A list of options, of which one is chosen. */
export const Select = ({ className, ...rest }: ComponentProps<'select'>) => (
  <select className={joinClasses(styles.input, className)} {...rest} />
)
