import { cloneElement, lazy, type ReactElement, Suspense, useState } from 'react'
import { IconButton } from './icon-button.tsx'
import type { MenuProps } from './menu.tsx'

const Menu = lazy(async () => ({ default: (await import('./menu.tsx')).Menu }))

interface TriggerProps {
  'aria-haspopup'?: 'menu'
  'aria-expanded'?: boolean
  onClick?: () => void
}

/** Loads a menu when its trigger is pressed for the first time. */
export function LazyMenu(props: Omit<MenuProps, 'trigger'> & { trigger: ReactElement<TriggerProps> }) {
  const [isLoaded, setLoaded] = useState(false)
  const closed = { 'aria-haspopup': 'menu', 'aria-expanded': false, onClick: () => setLoaded(true) } as const
  const trigger = cloneElement(props.trigger, closed)
  return isLoaded ? (
    <Suspense fallback={trigger}>
      <Menu {...props} />
    </Suspense>
  ) : (
    trigger
  )
}

export interface MenuButtonProps extends Omit<MenuProps, 'trigger'> {
  className?: string | undefined
  tabIndex?: number | undefined
}

/** A button that opens a menu. */
export const MenuButton = ({ className, tabIndex, ...menu }: MenuButtonProps) => (
  <LazyMenu
    {...menu}
    trigger={<IconButton icon="more" label={menu.label} title={undefined} className={className} tabIndex={tabIndex} />}
  />
)
