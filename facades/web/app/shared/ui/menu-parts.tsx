import type { ComponentProps } from 'react'
import { joinClasses } from './class-names.ts'
import styles from './menu.module.css'

/** Places a list of choices above the page and its dialogs. */
export const MenuLayer = (props: ComponentProps<'div'>) => <div {...props} className={styles.positioner} />

/** The surface that shows a list of choices. */
export const MenuSurface = ({ className, ...rest }: ComponentProps<'div'>) => (
  <div className={joinClasses(styles.popup, className)} {...rest} />
)

interface MenuRowProps extends ComponentProps<'div'> {
  isDangerous?: boolean | undefined
}

/** One of the choices. */
export const MenuRow = ({ isDangerous = false, className, ...rest }: MenuRowProps) => (
  <div className={joinClasses(styles.item, isDangerous && styles.danger, className)} {...rest} />
)

/** A remark below the choices, or in place of them. */
export const MenuNote = (props: ComponentProps<'p'>) => <p className={styles.note} {...props} />

/** The class of links that are among the choices. */
export const menuRowClass = styles.item
