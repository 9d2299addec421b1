import { regions } from '../shared/text/labels.ts'
import { foldText } from '../shared/text/word-pattern.ts'
import { useFilters } from './filters.ts'
import type { Column, Rows } from './record-table.tsx'

const PAGE_SIZE = 50

interface LocalRowsOptions<Row> {
  /** All records; undefined while they are loading. */
  records: readonly Row[] | undefined
  error: unknown
  columns: readonly Column<Row>[]
  /** Returns the texts of a row that a search looks at. */
  texts: (row: Row) => readonly (string | null | undefined)[]
  /** Returns true for rows that match the other filters. */
  matchesFilters?: (row: Row, filters: Readonly<Record<string, string>>) => boolean
}

/** Searches, filters, sorts and pages records that are completely loaded. */
export function useLocalRows<Row>({
  records,
  error,
  columns,
  texts,
  matchesFilters = () => true,
}: LocalRowsOptions<Row>): Rows<Row> {
  const { filters } = useFilters()
  if (!records) return { rows: undefined, error, hasMore: false }
  const needle = foldText((filters['q'] ?? '').trim())
  const matches = records.filter(
    (row) => matchesFilters(row, filters) && texts(row).some((text) => foldText(text ?? '').includes(needle)),
  )
  const sorted = sortRows(matches, columns, filters['sort'] ?? '')
  const start = (Number(filters['page'] ?? 1) - 1) * PAGE_SIZE
  const rows = sorted.slice(start, start + PAGE_SIZE)
  const hasMore = start + PAGE_SIZE < sorted.length
  return { rows, error, hasMore, total: sorted.length, readAll: async () => sorted }
}

const collator = new Intl.Collator([...regions], { numeric: true })

/** Sorts by the text of a column, numbers by value. A leading minus reverses the order. */
function sortRows<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: string): readonly Row[] {
  const key = sort.replace(/^-/, '')
  const { text } = columns.find((column) => column.key === key && column.isSortable) ?? {}
  if (!text) return rows
  const sorted = rows.toSorted((a, b) => compare(text(a), text(b)))
  return sort.startsWith('-') ? sorted.toReversed() : sorted
}

const compare = (a: string | number | null, b: string | number | null) =>
  typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a ?? ''), String(b ?? ''))
