import { Menu as BaseMenu } from '@base-ui/react/menu'
import type { ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'

export interface MenuEntry {
  icon: IconName
  label: string
  isDangerous?: boolean
  choose: () => unknown
}

export interface MenuProps {
  /** The accessible name. */
  label: string
  className?: string
  items: readonly MenuEntry[]
  /** A note below the items. */
  note?: ReactNode
}

/** A menu that is open when it is mounted. */
export const Menu = ({ label, className = '', items, note }: MenuProps) => (
  <BaseMenu.Root defaultOpen>
    <BaseMenu.Trigger className={`icon-button ${className}`} aria-label={label}>
      <Icon name="more" />
    </BaseMenu.Trigger>
    <BaseMenu.Portal>
      {/* Has a landmark of its own, as it is rendered outside the landmarks of the page. */}
      <BaseMenu.Positioner sideOffset={4} align="start" className="positioner" role="region" aria-label={label}>
        <BaseMenu.Popup className="popup">
          {items.map(({ icon, label: name, isDangerous, choose }) => (
            <BaseMenu.Item key={name} className={isDangerous ? 'menu-item danger' : 'menu-item'} onClick={choose}>
              <Icon name={icon} /> {name}
            </BaseMenu.Item>
          ))}
          {note && <p className="menu-note">{note}</p>}
        </BaseMenu.Popup>
      </BaseMenu.Positioner>
    </BaseMenu.Portal>
  </BaseMenu.Root>
)
