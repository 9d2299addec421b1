import { type ReactNode, useEffect, useRef, useState } from 'react'
import { formatCsvText } from '../../../../routers/ports/csv.ts'
import { describeError } from '../shared/api/error-text.ts'
import { saveFile } from '../shared/save-file.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { Input, Select } from '../shared/ui/input.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { Table, type TableHead } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { useFilters } from './filters.ts'
import styles from './record-table.module.css'

export interface Column<Row> extends Pick<TableHead, 'label' | 'isNumber' | 'isShort'> {
  key: string
  /** Renders the cell; without it, the column exists only in the CSV file. */
  cell?: (row: Row) => ReactNode
  /** Returns the value for the CSV file and for sorting; without it, the file has no such column. */
  text?: (row: Row) => string | number | null
  isSortable?: boolean
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
  /** A sentence about the records. */
  about?: string | undefined
  /** The filter fields. */
  filters?: ReactNode
  /** More actions, such as adding a row. */
  actions?: ReactNode
  /** The text of an empty list. */
  none: string
}

/** A table with filters in the address, sorting, pages and a CSV export. */
export function RecordTable<Row>({
  label,
  about,
  columns,
  rowKey,
  filters,
  actions,
  none,
  ...rows
}: RecordTableProps<Row>) {
  return (
    <section className={styles.records} aria-label={label}>
      {about !== undefined && <p className="hint">{about}</p>}
      <div className={styles.tools}>
        {filters && <search className={styles.filters}>{filters}</search>}
        <Toolbar className={styles.actions}>
          {rows.readAll && <CsvButton name={label} columns={columns} readAll={rows.readAll} />}
          {actions}
        </Toolbar>
      </div>
      <ErrorMessage error={rows.error} />
      {(rows.rows || !rows.error) && (
        <Records label={label} columns={columns} rowKey={rowKey} none={none} rows={rows.rows} />
      )}
      <Pages hasMore={rows.hasMore} total={rows.total} />
    </section>
  )
}

type RecordsProps<Row> = Pick<RecordTableProps<Row>, 'label' | 'columns' | 'rowKey' | 'none' | 'rows'>

function Records<Row>({ label, columns, rowKey, none, rows }: RecordsProps<Row>) {
  const { sort } = useFilters().filters
  if (!rows) return <Skeleton />
  if (rows.length === 0) return <p className={styles.none}>{none}</p>
  const shown = columns.filter(({ cell }) => cell)
  return (
    <Table
      label={label}
      isStacked
      heads={shown.map((column) => ({
        ...column,
        order: getSortOrder(sort, column.key),
        content: column.isSortable && <SortButton name={column.key} label={column.label} />,
      }))}
      rows={rows.map((row) => ({ key: rowKey(row), cells: shown.map(({ cell }) => cell?.(row)) }))}
    />
  )
}

/** Sorts by a column, and in reverse order with a second click. */
function SortButton({ name, label }: { name: string; label: string }) {
  const { filters, setFilters } = useFilters()
  const order = getSortOrder(filters['sort'], name)
  return (
    <button type="button" onClick={() => setFilters({ sort: order === 'ascending' ? `-${name}` : name })}>
      {label}
      <span aria-hidden="true">{sortArrows[order ?? 'none']}</span>
    </button>
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
}: { name: string } & Pick<RecordsProps<Row>, 'columns'> & Required<Pick<Rows<Row>, 'readAll'>>) {
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
      {typeof state === 'object' && <span className="error">{describeError(state.error)}</span>}
      <Button aria-disabled={state === 'working'} onClick={save}>
        {t('app.admin.csv')}
      </Button>
    </>
  )
}

function Pages({ hasMore, total }: { hasMore: boolean; total: number | undefined }) {
  const { filters, setFilters } = useFilters()
  const page = Number(filters['page'] ?? 1)
  if (page === 1 && !hasMore) return total ? <p className="hint">{t('app.admin.total', { count: total })}</p> : null
  const showPage = (number: number) => setFilters({ page: number === 1 ? '' : String(number) })
  return (
    <nav className={styles.pages} aria-label={t('app.admin.pages')}>
      <Button disabled={page === 1} onClick={() => showPage(page - 1)}>
        {t('app.admin.previous')}
      </Button>
      <span className="hint" role="status">
        {t('app.admin.page', { page })}
        {total !== undefined && ` · ${t('app.admin.total', { count: total })}`}
      </span>
      <Button disabled={!hasMore} onClick={() => showPage(page + 1)}>
        {t('app.admin.next')}
      </Button>
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
    <LabelledField label={label} className={name === 'q' ? styles.search : styles.filter}>
      {(control) => (
        <Input
          {...control}
          type={name === 'q' ? 'search' : 'text'}
          value={text}
          onChange={(event) => setText(event.target.value)}
          autoComplete="off"
        />
      )}
    </LabelledField>
  )
}

interface ChoiceFieldProps {
  name: string
  label: string
  /** The values with their labels. */
  choices: Choices
  /** More choices, in groups. */
  groups?: readonly (readonly [label: string, choices: Choices])[]
  /** The default value; without one, the default is all rows. */
  defaultValue?: string
}

type Choices = readonly (readonly [value: string, text: string])[]

/** A filter with a list of choices. */
export function ChoiceField({ name, label, choices, groups = [], defaultValue = '' }: ChoiceFieldProps) {
  const { filters, setFilters } = useFilters()
  return (
    <LabelledField label={label} className={styles.filter}>
      {(control) => (
        <Select
          {...control}
          value={filters[name] ?? defaultValue}
          onChange={(event) => setFilters({ [name]: event.target.value })}
        >
          {defaultValue === '' && <option value="">{t('app.admin.all')}</option>}
          <Options choices={choices} />
          {groups.map(([title, members]) => (
            <optgroup key={title} label={title}>
              <Options choices={members} />
            </optgroup>
          ))}
        </Select>
      )}
    </LabelledField>
  )
}

const Options = ({ choices }: { choices: Choices }) =>
  choices.map(([value, text]) => (
    <option key={value} value={value}>
      {text}
    </option>
  ))

interface DayFieldProps {
  name: string
  label: string
  defaultValue?: string
  type?: 'date' | 'month'
}

/** A filter by day or by month. */
export function DayField({ name, label, defaultValue = '', type = 'date' }: DayFieldProps) {
  const { filters, setFilters } = useFilters()
  return (
    <LabelledField label={label} className={styles.filter}>
      {(control) => (
        <Input
          {...control}
          type={type}
          value={filters[name] ?? defaultValue}
          onChange={(event) => setFilters({ [name]: event.target.value })}
        />
      )}
    </LabelledField>
  )
}

/** Converts rows to CSV. */
function toCsv(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((cells) => cells.map(formatCsvText).join(','))
  // Without a byte order mark, Excel reads the file in a legacy encoding.
  return `\uFEFF${lines.join('\r\n')}\r\n`
}
