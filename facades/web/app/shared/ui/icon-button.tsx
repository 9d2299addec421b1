import type { ComponentProps } from 'react'
import { joinClasses } from './class-names.ts'
import { Icon, type IconName } from './icon.tsx'
import styles from './icon-button.module.css'

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  icon: IconName
  /** The accessible name and the tooltip. */
  label: string
  kind?: 'quiet' | 'primary'
}

/** A button that shows an icon alone. */
export const IconButton = ({ icon, label, kind = 'quiet', className, ...rest }: IconButtonProps) => (
  <button type="button" className={joinClasses(styles[kind], className)} aria-label={label} title={label} {...rest}>
    <Icon name={icon} />
  </button>
)

/** The class of links and triggers that look like such a button. */
export const iconButtonClass = styles.quiet
