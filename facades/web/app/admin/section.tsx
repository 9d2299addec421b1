import type { ReactNode } from 'react'
import { t } from '../shared/text/labels.ts'
import { type Filters, useFilters } from './filters.ts'
import { useLocalRows } from './local-rows.ts'
import { type PagedSource, usePagedRows } from './paged-rows.ts'
import { type Column, RecordTable, type Rows, SearchField } from './record-table.tsx'

/** Declares the table of a section, whether its rows are read at once or in pages. */
interface TableDefinition<Data, Row> {
  /** The labels of the section, of its search field, of a list without a match, of one without a filter, and of a sentence about it. */
  labels: { title: string; search?: string; none: string; empty?: string; about?: string }
  columns: readonly Column<Row>[] | ((data: Data | undefined, filters: Filters) => readonly Column<Row>[])
  rowKey: (row: Row) => string | number
  /** The filter fields beside the search. */
  filters?: (data: Data | undefined) => ReactNode
  /** The buttons of the section, such as for a new row. */
  actions?: (data: Data | undefined, filters: Filters) => ReactNode
  /** Render the parts above and below the table. */
  above?: (data: Data | undefined) => ReactNode
  below?: () => ReactNode
}

interface SectionDefinition<Data, Row> extends TableDefinition<Data, Row> {
  /** Reads what the section shows. */
  useData: () => { data: Data | undefined; error: unknown }
  getRows: (data: Data) => readonly Row[]
  /** Returns the texts of a row that a search looks at. */
  texts: (row: Row) => readonly (string | null | undefined)[]
  /** Returns true for rows that match the other filters. */
  matchesFilters?: (row: Row, filters: Filters) => boolean
}

/** Defines a section with a table of records that are read as a whole. */
export function defineSection<Data, Row>(section: SectionDefinition<Data, Row>) {
  const { useData, getRows, texts } = section
  return function Section() {
    const { data, error } = useData()
    const columns = useColumns(section, data)
    const rows = useLocalRows({
      records: data && getRows(data),
      error,
      columns,
      texts,
      ...(section.matchesFilters && { matchesFilters: section.matchesFilters }),
    })
    return <SectionTable section={section} data={data} columns={columns} rows={rows} />
  }
}

/** Defines a section with a table of records that the service searches, filters and pages. */
export function definePagedSection<Data extends { hasMore: boolean }, Row>(
  section: TableDefinition<Data, Row> & PagedSource<Data, Row>,
) {
  return function Section() {
    const { data, rows } = usePagedRows(section)
    const columns = useColumns(section, data)
    return <SectionTable section={section} data={data} columns={columns} rows={rows} />
  }
}

function useColumns<Data, Row>({ columns }: TableDefinition<Data, Row>, data: Data | undefined) {
  const { filters } = useFilters()
  return typeof columns === 'function' ? columns(data, filters) : columns
}

/** The order and the page of a list leave nothing out. */
const hasNoFilter = ({ sort: _, page: __, ...filters }: Filters) => Object.keys(filters).length === 0

interface SectionTableProps<Data, Row> {
  section: TableDefinition<Data, Row>
  data: Data | undefined
  columns: readonly Column<Row>[]
  rows: Rows<Row>
}

function SectionTable<Data, Row>({ section, data, columns, rows }: SectionTableProps<Data, Row>) {
  const { labels, rowKey, actions, above, below } = section
  const { filters } = useFilters()
  return (
    <>
      {above?.(data)}
      <RecordTable
        label={t(labels.title)}
        about={labels.about && t(labels.about)}
        columns={columns}
        rowKey={rowKey}
        {...rows}
        none={t(hasNoFilter(filters) ? (labels.empty ?? labels.none) : labels.none)}
        filters={
          <>
            {labels.search && <SearchField name="q" label={t(labels.search)} />}
            {section.filters?.(data)}
          </>
        }
        actions={actions?.(data, filters)}
      />
      {below?.()}
    </>
  )
}
