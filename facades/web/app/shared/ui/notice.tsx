import type { ComponentProps } from 'react'
import { joinClasses } from './class-names.ts'
import styles from './notice.module.css'

interface NoticeProps extends ComponentProps<'div'> {
  kind?: 'info' | 'warning' | 'error'
  /** A row has its button or meter beside the text, a stack below it. */
  layout?: 'stack' | 'row'
}

/** A remark in a box of its own. */
export const Notice = ({ kind = 'info', layout = 'stack', className, ...rest }: NoticeProps) => (
  <div className={joinClasses(styles[kind], styles[layout], className)} {...rest} />
)
