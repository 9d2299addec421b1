import { type ReactNode, useEffect, useId, useState } from 'react'
import { describeError } from '../shared/api/error-text.ts'
import { saveFile } from '../shared/save-file.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { useFilters } from './filters.ts'

export interface Column<Row> {
  key: string
  label: string
  /** What the table shows; without it, the column is in a file alone. */
  cell?: (row: Row) => ReactNode
  /** The value for a file; without it, the column is left out there. */
  text?: (row: Row) => string | number | null
  isSortable?: boolean
  isNumber?: boolean
}

/** A page of rows, and how the others are reached. */
export interface Rows<Row> {
  /** Undefined while they are read. */
  rows: readonly Row[] | undefined
  error: unknown
  hasMore: boolean
  /** The number of rows on all pages, where that is known. */
  total?: number
  /** Reads all pages, for a file. */
  readAll?: () => Promise<readonly Row[]>
}

interface RecordTableProps<Row> extends Rows<Row> {
  label: string
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string | number
  /** Fields that choose among the rows. */
  filters?: ReactNode
  /** Further actions, such as adding a row. */
  actions?: ReactNode
  /** A sentence for an empty list. */
  none: string
}

/** A list of rows with filters in the address, an order, pages, and a file of all that was chosen. */
export function RecordTable<Row>({ label, columns, rowKey, filters, actions, none, ...rows }: RecordTableProps<Row>) {
  return (
    <section className="records" aria-label={label}>
      <div className="records-tools">
        {filters && <search className="records-filters">{filters}</search>}
        <p className="records-actions">
          {rows.readAll && <CsvButton name={label} columns={columns} readAll={rows.readAll} />}
          {actions}
        </p>
      </div>
      {rows.error ? (
        <ErrorMessage error={rows.error} />
      ) : (
        <Table {...{ label, columns, rowKey, none }} rows={rows.rows} />
      )}
      <Pages hasMore={rows.hasMore} total={rows.total} />
    </section>
  )
}

type TableProps<Row> = Pick<RecordTableProps<Row>, 'label' | 'columns' | 'rowKey' | 'none' | 'rows'>

function Table<Row>({ label, columns: all, rowKey, none, rows }: TableProps<Row>) {
  if (!rows) return <div className="admin-waiting" aria-busy="true" />
  if (rows.length === 0) return <p className="records-none">{none}</p>
  const columns = all.filter(({ cell }) => cell)
  return (
    <table className="records-table" aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ key, label: name, isSortable, isNumber }) => (
            <Head key={key} name={key} label={name} isSortable={isSortable} isNumber={isNumber} />
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={rowKey(row)}>
            {columns.map(({ key, label: name, cell, isNumber }) => (
              <td key={key} className={isNumber ? `number column-${key}` : `column-${key}`} data-label={name}>
                {cell?.(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

interface HeadProps {
  name: string
  label: string
  isSortable?: boolean | undefined
  isNumber?: boolean | undefined
}

/** The head of a column, which puts rows in its order, and at the second time in the opposite one. */
function Head({ name, label, isSortable, isNumber }: HeadProps) {
  const { filters, setFilters } = useFilters()
  const { sort } = filters
  const order = sort === name ? 'ascending' : sort === `-${name}` ? 'descending' : undefined
  return (
    <th scope="col" className={isNumber ? 'number' : undefined} aria-sort={order}>
      {isSortable ? (
        <button type="button" onClick={() => setFilters({ sort: order === 'ascending' ? `-${name}` : name })}>
          {label}
          <span aria-hidden="true">{order === 'ascending' ? ' ↑' : order === 'descending' ? ' ↓' : ' ↕'}</span>
        </button>
      ) : (
        <span>{label}</span>
      )}
    </th>
  )
}

function CsvButton<Row>({
  name,
  columns,
  readAll,
}: { name: string } & Pick<TableProps<Row>, 'columns'> & Required<Pick<Rows<Row>, 'readAll'>>) {
  const [state, setState] = useState<'ready' | 'working' | { error: unknown }>('ready')
  const save = async () => {
    setState('working')
    try {
      const inFile = columns.filter(({ text }) => text)
      const lines = (await readAll()).map((row) => inFile.map(({ text }) => String(text?.(row) ?? '')))
      const text = toCsv([inFile.map(({ label }) => label), ...lines])
      saveFile(new Blob([text], { type: 'text/csv' }), `${name}.csv`)
      setState('ready')
    } catch (error) {
      setState({ error })
    }
  }
  return (
    <>
      {typeof state === 'object' && <span className="wrong">{describeError(state.error)}</span>}
      <button type="button" className="quiet-button" aria-disabled={state === 'working'} onClick={save}>
        {t('app.admin.csv')}
      </button>
    </>
  )
}

function Pages({ hasMore, total }: { hasMore: boolean; total: number | undefined }) {
  const { filters, setFilters } = useFilters()
  const page = Number(filters['page'] ?? 1)
  if (page === 1 && !hasMore) return total ? <p className="hint">{t('app.admin.total', { count: total })}</p> : null
  const turn = (to: number) => setFilters({ page: to === 1 ? '' : String(to) })
  return (
    <nav className="records-pages" aria-label={t('app.admin.pages')}>
      <button type="button" className="quiet-button" disabled={page === 1} onClick={() => turn(page - 1)}>
        {t('app.admin.previous')}
      </button>
      <span className="hint" role="status">
        {t('app.admin.page', { page })}
        {total !== undefined && ` · ${t('app.admin.total', { count: total })}`}
      </span>
      <button type="button" className="quiet-button" disabled={!hasMore} onClick={() => turn(page + 1)}>
        {t('app.admin.next')}
      </button>
    </nav>
  )
}

/** Milliseconds without another letter, after which a search begins. */
const PAUSE_MS = 250

/** A text to look for, which stands in the address. */
export function SearchField({ name, label }: { name: string; label: string }) {
  const { filters, setFilters } = useFilters()
  const current = filters[name] ?? ''
  const [text, setText] = useState(current)
  const id = useId()
  useEffect(() => {
    if (text === current) return
    const timer = setTimeout(() => setFilters({ [name]: text }), PAUSE_MS)
    return () => clearTimeout(timer)
  })
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type={name === 'q' ? 'search' : 'text'}
        value={text}
        onChange={(event) => setText(event.target.value)}
        autoComplete="off"
      />
    </div>
  )
}

interface ChoiceFieldProps {
  name: string
  label: string
  /** The choices, with their words. */
  choices: readonly (readonly [value: string, text: string])[]
  /** The choice that holds where nothing is chosen, where that is one of them and not all. */
  usual?: string
}

/** One of some, or all. */
export function ChoiceField({ name, label, choices, usual = '' }: ChoiceFieldProps) {
  const { filters, setFilters } = useFilters()
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} value={filters[name] ?? usual} onChange={(event) => setFilters({ [name]: event.target.value })}>
        {usual === '' && <option value="">{t('app.admin.all')}</option>}
        {choices.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface DayFieldProps {
  name: string
  label: string
  usual?: string
  type?: 'date' | 'month'
}

/** A day, from or to which rows are shown, or a month. */
export function DayField({ name, label, usual = '', type = 'date' }: DayFieldProps) {
  const { filters, setFilters } = useFilters()
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type={type}
        value={filters[name] ?? usual}
        onChange={(event) => setFilters({ [name]: event.target.value })}
      />
    </div>
  )
}

/** A table for a spreadsheet: what it would take for a formula is text to it. */
function toCsv(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => cells.map(quoteCell).join(','))
  // Without the mark at its beginning, spreadsheets read it in an old encoding.
  return `\uFEFF${lines.join('\r\n')}\r\n`
}

function quoteCell(cell: string): string {
  const safe = /^[=+@\t\r]|^-(?![\d.]+$)/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
