import type { ReactNode } from 'react'

interface PlainTableProps {
  label: string
  /** The heads of the columns; those of numbers begin with a `#`. */
  heads: readonly string[]
  rows: readonly { key: string; cells: readonly ReactNode[] }[]
}

/** Tables of more columns are lists of facts on narrow pages. */
const FEW = 3

const nameOf = (head = '') => head.replace('#', '')

/** A short table without filters. */
export function PlainTable({ label, heads, rows }: PlainTableProps) {
  const classOf = (index: number) => (heads[index]?.startsWith('#') ? 'number' : undefined)
  return (
    <table className={heads.length > FEW ? 'plain-table stacked-table' : 'plain-table'} aria-label={label}>
      <thead>
        <tr>
          {heads.map((head, index) => (
            <th key={head} scope="col" className={classOf(index)}>
              {nameOf(head)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {cells.map((cell, index) => (
              <td key={heads[index]} className={classOf(index)} data-label={nameOf(heads[index])}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
