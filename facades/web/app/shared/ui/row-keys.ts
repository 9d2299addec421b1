import type { KeyboardEvent } from 'react'

const ROW = '[data-row]'

/**
 * Moves the focus in a list whose rows are one tab stop each: up and down from row to row, right to the menu of a row and
 * left back to the row.
 */
export function moveInRows(event: KeyboardEvent<HTMLElement>): void {
  const { key, target, currentTarget: list } = event
  const row = (target as Element).closest<HTMLElement>(ROW)
  // React events of the menus and dialogs of a row bubble to the list, though these are elsewhere in the document.
  if (!row || !list.contains(row)) return
  const next = findNext(key, row, list, target !== findMain(row))
  if (!next) return
  event.preventDefault()
  next.focus()
}

function findNext(key: string, row: HTMLElement, list: HTMLElement, isInMenu: boolean): HTMLElement | null | undefined {
  if (isInMenu) return key === 'ArrowLeft' ? findMain(row) : undefined
  if (key === 'ArrowRight') return row.querySelector<HTMLElement>('[aria-haspopup="menu"]')
  if (key !== 'ArrowDown' && key !== 'ArrowUp') return undefined
  const rows = [...list.querySelectorAll<HTMLElement>(ROW)]
  const next = rows[rows.indexOf(row) + (key === 'ArrowDown' ? 1 : -1)]
  return next && findMain(next)
}

/** The link, button or checkbox that a row is there for. */
const findMain = (row: HTMLElement) => row.querySelector<HTMLElement>('a, button, input')
