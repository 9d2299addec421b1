import type { ReactNode } from 'react'
import { joinClasses } from './class-names.ts'
import styles from './table.module.css'

export interface TableHead {
  label: string
  /** Stands in place of the label, such as a button that sorts. */
  content?: ReactNode
  order?: 'ascending' | 'descending' | undefined
  /** Numbers stand at the end of their column, one digit below the other. */
  isNumber?: boolean | undefined
  /** The cells keep to one line. */
  isShort?: boolean | undefined
}

interface TableRow {
  key: string | number
  cells: readonly ReactNode[]
  isCurrent?: boolean
}

interface TableProps {
  label?: string | undefined
  /** The heads of the columns; a text alone is that of a column without numbers. */
  heads: readonly (string | TableHead)[]
  rows: readonly TableRow[]
  /** The cells of a last row, such as a total. */
  foot?: readonly ReactNode[]
  /** On narrow screens, each row becomes a list of its values. */
  isStacked?: boolean
}

/** Makes the head of a column of numbers. */
export const numberHead = (label: string): TableHead => ({ label, isNumber: true })

/** The most columns of a table that is not stacked on narrow screens, unless it says so. */
const MAX_UNSTACKED_COLUMNS = 3

/** A dense table. */
export function Table({ label, heads, rows, foot, isStacked = heads.length > MAX_UNSTACKED_COLUMNS }: TableProps) {
  const columns = heads.map((head): TableHead => (typeof head === 'string' ? { label: head } : head))
  return (
    <div className={styles.container}>
      <table className={joinClasses(styles.table, isStacked && styles.stacked)} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.label} scope="col" className={getCellClass(column)} aria-sort={column.order}>
                {column.content || column.label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, cells, isCurrent }) => (
            <tr key={key} aria-current={isCurrent || undefined}>
              <Cells columns={columns} cells={cells} />
            </tr>
          ))}
        </tbody>
        {foot && (
          <tfoot>
            <tr>
              <Cells columns={columns} cells={foot} />
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  )
}

const Cells = ({ columns, cells }: { columns: readonly TableHead[]; cells: readonly ReactNode[] }) =>
  columns.map((column, index) => (
    <td key={column.label} className={getCellClass(column)} data-label={column.label}>
      {cells[index]}
    </td>
  ))

function getCellClass({ isNumber, isShort }: TableHead): string | undefined {
  if (isNumber) return styles.number
  return isShort ? styles.short : undefined
}

/** The text of a cell with a remark below it. */
export const CellText = ({ note, children }: { note?: ReactNode; children: ReactNode }) => (
  <span className={styles.text}>
    {children}
    {note && <span className={styles.note}>{note}</span>}
  </span>
)
