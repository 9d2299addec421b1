import type { ComponentProps, ReactNode } from 'react'
import { describeError } from '../api/error-text.ts'
import { t } from '../text/labels.ts'
import { Button } from './button.tsx'
import { joinClasses } from './class-names.ts'
import { Input } from './input.tsx'
import { MenuButton, type MenuButtonProps } from './menu-button.tsx'
import { Notice } from './notice.tsx'
import { moveInRows } from './row-keys.ts'
import styles from './side-list.module.css'

let isSearchWanted = false

/** Moves the focus to the search of the list in the sidebar; one that is not shown yet takes it when it is. */
export function focusListSearch(): void {
  const field = document.getElementById(SEARCH_ID)
  field?.focus()
  isSearchWanted = field === null
}

const SEARCH_ID = 'list-search'

function focusIfWanted(field: HTMLInputElement | null): void {
  if (!field || !isSearchWanted) return
  isSearchWanted = false
  // A drawer moves the focus itself when it opens.
  setTimeout(() => field.focus())
}

interface ListSearchProps {
  label: string
  text: string
  search: (text: string) => void
  /** More beside the field. */
  children?: ReactNode
}

/** Filters a list in the sidebar by name. */
export const ListSearch = ({ label, text, search, children }: ListSearchProps) => (
  <div className={styles.search}>
    <Input
      id={SEARCH_ID}
      ref={focusIfWanted}
      type="search"
      aria-keyshortcuts="Control+K"
      value={text}
      maxLength={120}
      aria-label={label}
      placeholder={label}
      onChange={({ target }) => search(target.value)}
    />
    {children}
  </div>
)

interface SideListProps extends ComponentProps<'nav'> {
  /** The accessible name. */
  label: string
}

/** A list in the sidebar, which scrolls. */
export const SideList = ({ label, className, ...rest }: SideListProps) => (
  <nav aria-label={label} className={joinClasses(styles.list, className)} onKeyDown={moveInRows} {...rest} />
)

/** A remark in a list of the sidebar, or in place of one. */
export const SideNote = (props: Omit<ComponentProps<'p'>, 'className'>) => <p className={styles.note} {...props} />

/** Stands in place of a list in the sidebar. */
export const SideListPlaceholder = ({ children }: { children: ReactNode }) => (
  <div className={styles.list}>
    <SideNote>{children}</SideNote>
  </div>
)

/** A row of a list in the sidebar: a link, perhaps with a menu. */
export const SideRow = ({ className, ...rest }: ComponentProps<'li'>) => (
  <li className={joinClasses(styles.row, className)} data-row="" {...rest} />
)

/** The menu of a row. It appears while the pointer or the focus is in the row, and the right arrow key leads to it. */
export const RowMenu = (props: Omit<MenuButtonProps, 'className' | 'tabIndex'>) => (
  <MenuButton {...props} className={styles.menu} tabIndex={-1} />
)

/** Shows that a list could not be read, with a button to try again. */
export const ListFailure = ({ error, read }: { error: unknown; read: () => void }) => (
  <Notice kind="error" role="alert">
    <p>{describeError(error)}</p>
    <Button onClick={read}>{t('app.tryAgain')}</Button>
  </Notice>
)
