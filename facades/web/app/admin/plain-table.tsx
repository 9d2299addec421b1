import type { ReactNode } from 'react'

interface PlainTableProps {
  label: string
  /** The heads of the columns; those of numbers begin with a `#`. */
  heads: readonly string[]
  rows: readonly { key: string; cells: readonly ReactNode[] }[]
}

/** A short table without filters. */
export function PlainTable({ label, heads, rows }: PlainTableProps) {
  const classOf = (index: number) => (heads[index]?.startsWith('#') ? 'number' : undefined)
  return (
    <table className="plain-table" aria-label={label}>
      <thead>
        <tr>
          {heads.map((head, index) => (
            <th key={head} scope="col" className={classOf(index)}>
              {head.replace('#', '')}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {cells.map((cell, index) => (
              <td key={heads[index]} className={classOf(index)}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}
