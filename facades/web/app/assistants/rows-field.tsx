import { type ChangeEvent, type ReactNode, useRef } from 'react'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { FieldGroup } from '../shared/ui/field.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import styles from './editor-page.module.css'

interface RowControl {
  'aria-label': string
  value: string
  onChange: (event: ChangeEvent<HTMLInputElement | HTMLSelectElement>) => void
}

interface RowsFieldProps {
  label: string
  hint: string
  rows: readonly string[]
  change: (rows: string[]) => void
  /** The most rows. */
  most: number
  addLabel: string
  /** Names a row by its position, which begins with 1. */
  nameRow: (position: number) => string
  children: (control: RowControl) => ReactNode
}

/** A list of values, each with a control of its own, which can be added and removed. */
export function RowsField({ label, hint, rows, change, most, addLabel, nameRow, children }: RowsFieldProps) {
  const list = useRef<HTMLUListElement>(null)
  const add = () => {
    change([...rows, ''])
    requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('li:last-child :is(input, select)')?.focus())
  }
  const remove = (at: number) => {
    change(rows.filter((_, index) => index !== at))
    // The focus would go with the row.
    list.current?.parentElement?.querySelector<HTMLElement>(':scope > button')?.focus()
  }
  return (
    <FieldGroup label={label}>
      <p className="hint">{hint}</p>
      {rows.length > 0 && (
        <ul ref={list} className={styles.rows} aria-label={label}>
          {rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their position.
            <li key={at} className={styles.row}>
              {children({
                'aria-label': nameRow(at + 1),
                value: row,
                onChange: ({ target }) => change(rows.map((each, index) => (index === at ? target.value : each))),
              })}
              <IconButton
                icon="close"
                label={t('app.assistants.removeRow', { name: nameRow(at + 1) })}
                onClick={() => remove(at)}
              />
            </li>
          ))}
        </ul>
      )}
      {rows.length < most && (
        <Button onClick={add}>
          <Icon name="plus" /> {addLabel}
        </Button>
      )}
    </FieldGroup>
  )
}
