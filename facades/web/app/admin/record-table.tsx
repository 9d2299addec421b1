import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { formatCsvText } from '../../../../routers/ports/csv.ts'
import { describeError } from '../shared/api/error-text.ts'
import { saveFile } from '../shared/save-file.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { useFilters } from './filters.ts'

export interface Column<Row> {
  key: string
  label: string
  /** Renders the cell; without it, the column exists only in the CSV file. */
  cell?: (row: Row) => ReactNode
  /** Returns the value for the CSV file and for sorting; without it, the file has no such column. */
  text?: (row: Row) => string | number | null
  isSortable?: boolean
  isNumber?: boolean
}

/** A page of rows. */
export interface Rows<Row> {
  /** Undefined while they are loading. */
  rows: readonly Row[] | undefined
  error: unknown
  hasMore: boolean
  /** The number of rows on all pages, if known. */
  total?: number
  /** Reads all pages for the CSV file. */
  readAll?: () => Promise<readonly Row[]>
}

interface RecordTableProps<Row> extends Rows<Row> {
  label: string
  columns: readonly Column<Row>[]
  rowKey: (row: Row) => string | number
  /** The filter fields. */
  filters?: ReactNode
  /** More actions, such as adding a row. */
  actions?: ReactNode
  /** The text of an empty list. */
  none: string
}

/** A table with filters in the address, sorting, pages and a CSV export. */
export function RecordTable<Row>({ label, columns, rowKey, filters, actions, none, ...rows }: RecordTableProps<Row>) {
  return (
    <section className="records" aria-label={label}>
      <div className="records-tools">
        {filters && <search className="records-filters">{filters}</search>}
        <p className="button-row">
          {rows.readAll && <CsvButton name={label} columns={columns} readAll={rows.readAll} />}
          {actions}
        </p>
      </div>
      <ErrorMessage error={rows.error} />
      {(rows.rows || !rows.error) && (
        <Table label={label} columns={columns} rowKey={rowKey} none={none} rows={rows.rows} />
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
            <ColumnHead key={key} name={key} label={name} isSortable={isSortable} isNumber={isNumber} />
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

interface ColumnHeadProps {
  name: string
  label: string
  isSortable?: boolean | undefined
  isNumber?: boolean | undefined
}

/** The head of a column. A click sorts by it, and a second one reverses the order. */
function ColumnHead({ name, label, isSortable, isNumber }: ColumnHeadProps) {
  const { filters, setFilters } = useFilters()
  const { sort } = filters
  const order = getSortOrder(sort, name)
  return (
    <th scope="col" className={isNumber ? 'number' : undefined} aria-sort={order}>
      {isSortable ? (
        <button type="button" onClick={() => setFilters({ sort: order === 'ascending' ? `-${name}` : name })}>
          {label}
          <span aria-hidden="true">{sortArrows[order ?? 'none']}</span>
        </button>
      ) : (
        <span>{label}</span>
      )}
    </th>
  )
}

const sortArrows = { ascending: ' ↑', descending: ' ↓', none: ' ↕' } as const

function getSortOrder(sort: string | undefined, name: string): 'ascending' | 'descending' | undefined {
  if (sort === name) return 'ascending'
  return sort === `-${name}` ? 'descending' : undefined
}

function CsvButton<Row>({
  name,
  columns,
  readAll,
}: { name: string } & Pick<TableProps<Row>, 'columns'> & Required<Pick<Rows<Row>, 'readAll'>>) {
  const [state, setState] = useState<'ready' | 'working' | { error: unknown }>('ready')
  const save = async () => {
    if (state === 'working') return
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
  const showPage = (number: number) => setFilters({ page: number === 1 ? '' : String(number) })
  return (
    <nav className="records-pages" aria-label={t('app.admin.pages')}>
      <button type="button" className="quiet-button" disabled={page === 1} onClick={() => showPage(page - 1)}>
        {t('app.admin.previous')}
      </button>
      <span className="hint" role="status">
        {t('app.admin.page', { page })}
        {total !== undefined && ` · ${t('app.admin.total', { count: total })}`}
      </span>
      <button type="button" className="quiet-button" disabled={!hasMore} onClick={() => showPage(page + 1)}>
        {t('app.admin.next')}
      </button>
    </nav>
  )
}

/** Milliseconds without a keystroke after which a search starts. */
const PAUSE_MS = 250

/** A search field whose text is in the address. */
export function SearchField({ name, label }: { name: string; label: string }) {
  const { filters, setFilters } = useFilters()
  const current = filters[name] ?? ''
  const [text, setText] = useState(current)
  /** The text that the address has, or gets from this field. */
  const known = useRef(current)
  const id = useId()
  useEffect(() => {
    if (current === known.current) return
    // A link or the browser has changed the address.
    known.current = current
    setText(current)
  }, [current])
  useEffect(() => {
    if (text === known.current) return
    const timer = setTimeout(() => {
      known.current = text
      setFilters({ [name]: text })
    }, PAUSE_MS)
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
  /** The values with their labels. */
  choices: readonly (readonly [value: string, text: string])[]
  /** The default value; without one, the default is all rows. */
  defaultValue?: string
}

/** A filter with a list of choices. */
export function ChoiceField({ name, label, choices, defaultValue = '' }: ChoiceFieldProps) {
  const { filters, setFilters } = useFilters()
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={filters[name] ?? defaultValue}
        onChange={(event) => setFilters({ [name]: event.target.value })}
      >
        {defaultValue === '' && <option value="">{t('app.admin.all')}</option>}
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
  defaultValue?: string
  type?: 'date' | 'month'
}

/** A filter by day or by month. */
export function DayField({ name, label, defaultValue = '', type = 'date' }: DayFieldProps) {
  const { filters, setFilters } = useFilters()
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type={type}
        value={filters[name] ?? defaultValue}
        onChange={(event) => setFilters({ [name]: event.target.value })}
      />
    </div>
  )
}

/** Converts rows to CSV. */
function toCsv(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => cells.map(formatCsvText).join(','))
  // Without a byte order mark, Excel reads the file in a legacy encoding.
  return `\uFEFF${lines.join('\r\n')}\r\n`
}
