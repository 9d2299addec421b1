import { type ReactNode, useId } from 'react'
import { ErrorMessage } from '../shared/ui/error-message.tsx'

/** A titled part of a page. */
export function Part({ title, children }: { title: string; children: ReactNode }) {
  const id = useId()
  return (
    <section aria-labelledby={id} className="section admin-part">
      <h2 id={id}>{title}</h2>
      {children}
    </section>
  )
}

/** A list of names and values; empty values are left out. */
export const Facts = ({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) => (
  <dl className="facts">
    {facts
      .filter(([, value]) => value !== null && value !== undefined && value !== '')
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

interface PlainTableProps {
  label: string
  /** The heads of the columns. A leading `#` marks columns of numbers. */
  heads: readonly string[]
  rows: readonly { key: string; cells: readonly ReactNode[] }[]
}

/** The most columns of a table that is not stacked on narrow screens. */
const MAX_UNSTACKED_COLUMNS = 3

const getHeadName = (head = '') => head.replace('#', '')

/** A short table without filters. */
export function PlainTable({ label, heads, rows }: PlainTableProps) {
  const getCellClass = (index: number) => (heads[index]?.startsWith('#') ? 'number' : undefined)
  return (
    <table
      className={heads.length > MAX_UNSTACKED_COLUMNS ? 'plain-table stacked-table' : 'plain-table'}
      aria-label={label}
    >
      <thead>
        <tr>
          {heads.map((head, index) => (
            <th key={head} scope="col" className={getCellClass(index)}>
              {getHeadName(head)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key}>
            {cells.map((cell, index) => (
              <td key={heads[index]} className={getCellClass(index)} data-label={getHeadName(heads[index])}>
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface StateBadgeProps {
  kind: 'ok' | 'warn' | 'wrong' | 'idle'
  children: string
  title?: string
}

/** A state as a word with a colored mark. */
export const StateBadge = ({ kind, title, children }: StateBadgeProps) => (
  <span className={`state ${kind}`} title={title}>
    {children}
  </span>
)

/** Says above records that reading them again has failed, so that they may be out of date. */
export const StaleNotice = ({ error }: { error: unknown }) => <ErrorMessage error={error} className="notice wrong" />
