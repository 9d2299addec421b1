import { readPages, type useRecords } from './admin-queries.ts'
import { type Filters, useFilters } from './filters.ts'
import type { Rows } from './record-table.tsx'

const PAGE_SIZE = 50
/** The page size when all rows are read. */
export const ALL_SIZE = 1000

export interface PageInput {
  page: number
  size: number
}

interface AnyPage {
  hasMore: boolean
}

export interface PagedSource<Page, Row> {
  /** The name of the rows among all that is read. */
  key: string
  /** Reads a page of the rows that match the filters. */
  read: (filters: Filters, page: PageInput, options?: { signal: AbortSignal }) => Promise<Page>
  getRows: (page: Page) => readonly Row[]
  /** Reads records, or figures, which have no stream. */
  useData: typeof useRecords<NoInfer<Page>>
  /** Reads all rows, where large pages are not the way. */
  readAll?: (filters: Filters) => Promise<readonly Row[]>
}

/** Reads the rows that match the filters in the address, page by page. */
export function usePagedRows<Page extends AnyPage, Row>({
  key,
  useData,
  read,
  getRows,
  ...source
}: PagedSource<Page, Row>) {
  const { filters } = useFilters()
  const input = { page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useData([key, filters], (signal) => read(filters, input, { signal }))
  const readLargePages = () =>
    readPages(async (page) => {
      const large = await read(filters, { page, size: ALL_SIZE })
      return { rows: getRows(large), hasMore: large.hasMore }
    })
  const rows: Rows<Row> = {
    rows: data && getRows(data),
    error,
    hasMore: data?.hasMore ?? false,
    readAll: () => source.readAll?.(filters) ?? readLargePages(),
  }
  return { data, rows }
}
