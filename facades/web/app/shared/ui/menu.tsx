import { Menu as BaseMenu } from '@base-ui/react/menu'
import type { ReactElement, ReactNode } from 'react'
import { Icon, type IconName } from './icon.tsx'
import { MenuLayer, MenuNote, MenuRow, MenuSurface, menuRowClass } from './menu-parts.tsx'

export interface MenuEntry {
  icon: IconName
  label: string
  isDangerous?: boolean
  choose?: () => unknown
  /** A link that the entry is, in place of an action. */
  link?: ReactElement
}

export interface MenuProps {
  /** The accessible name. */
  label: string
  /** The button that opens the menu. */
  trigger: ReactElement
  side?: 'top' | 'bottom' | undefined
  items: readonly MenuEntry[]
  /** A note below the items. */
  note?: ReactNode
}

/** A menu that is open when it is mounted. */
export const Menu = ({ label, trigger, side, items, note }: MenuProps) => (
  <BaseMenu.Root defaultOpen>
    <BaseMenu.Trigger render={trigger} />
    <BaseMenu.Portal>
      {/* Has a landmark of its own, as it is rendered outside the landmarks of the page. */}
      <BaseMenu.Positioner
        side={side}
        sideOffset={4}
        align="start"
        render={<MenuLayer role="region" aria-label={label} />}
      >
        <BaseMenu.Popup render={<MenuSurface />}>
          {items.map((entry) => (
            <MenuItem key={entry.label} {...entry} />
          ))}
          {note && <MenuNote>{note}</MenuNote>}
        </BaseMenu.Popup>
      </BaseMenu.Positioner>
    </BaseMenu.Portal>
  </BaseMenu.Root>
)

function MenuItem({ icon, label, isDangerous, choose, link }: MenuEntry) {
  const content = (
    <>
      <Icon name={icon} /> {label}
    </>
  )
  return link ? (
    <BaseMenu.LinkItem closeOnClick className={menuRowClass} render={link} onClick={choose}>
      {content}
    </BaseMenu.LinkItem>
  ) : (
    <BaseMenu.Item render={<MenuRow isDangerous={isDangerous} />} onClick={choose}>
      {content}
    </BaseMenu.Item>
  )
}
