import { useState } from 'react'
import { getInitials } from '../text/initials.ts'
import styles from './avatar.module.css'
import { joinClasses } from './class-names.ts'
import { Icon, type IconName } from './icon.tsx'

interface AvatarProps {
  name: string
  /** The path of the picture below `/proxy/storage/`. Without one, or if it cannot be read, the initials are shown. */
  picture?: string | null | undefined
  /** Is shown in place of initials, for models and rooms. */
  icon?: IconName | undefined
  size?: 'small' | 'medium' | 'large'
  className?: string | undefined
}

/** The picture or the initials of somebody. It is decorative: the name stands beside it. */
export function Avatar({ name, picture, icon, size = 'medium', className }: AvatarProps) {
  const [unreadable, setUnreadable] = useState<string>()
  const classes = joinClasses(styles.avatar, styles[size], className)
  if (picture && picture !== unreadable)
    return (
      <img
        className={classes}
        src={`/proxy/storage/${picture}`}
        alt=""
        loading="lazy"
        onError={() => setUnreadable(picture)}
      />
    )
  const initials = getInitials(name)
  return (
    <span className={classes} data-tint={icon ? undefined : pickTint(name)} aria-hidden="true">
      {icon || initials === '' ? <Icon name={icon ?? 'people'} /> : initials}
    </span>
  )
}

const TINTS = 6

/** Returns the same tint for the same name on every page. */
const pickTint = (name: string): number =>
  [...name].reduce((sum, character) => (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521, 7) % TINTS
