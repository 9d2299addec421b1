import type { ComponentProps } from 'react'
import { Icon, type IconName } from './icon.tsx'

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  icon: IconName
  /** Its name for screen readers, and what a mouse that rests on it is shown. */
  label: string
}

export const IconButton = ({ icon, label, className = '', ...rest }: IconButtonProps) => (
  <button type="button" className={`icon-button ${className}`} aria-label={label} title={label} {...rest}>
    <Icon name={icon} />
  </button>
)
