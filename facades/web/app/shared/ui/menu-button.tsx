import { lazy, Suspense, useState } from 'react'
import { Icon } from './icon.tsx'
import type { MenuProps } from './menu.tsx'

const Menu = lazy(async () => ({ default: (await import('./menu.tsx')).Menu }))

/** A button that opens a menu. */
export function MenuButton(props: MenuProps) {
  const [isMenuLoaded, setMenuLoaded] = useState(false)
  const { label, className = '' } = props
  const button = (
    <button
      type="button"
      className={`icon-button ${className}`}
      aria-haspopup="menu"
      aria-expanded={false}
      aria-label={label}
      onClick={() => setMenuLoaded(true)}
    >
      <Icon name="more" />
    </button>
  )
  return isMenuLoaded ? (
    <Suspense fallback={button}>
      <Menu {...props} />
    </Suspense>
  ) : (
    button
  )
}
