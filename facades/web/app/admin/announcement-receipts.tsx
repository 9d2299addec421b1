import { Link } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { minuteText } from '../shared/text/moments.ts'
import { MINUTE_MS, useRead } from './admin-queries.ts'
import { useFilters } from './filters.ts'
import { type Column, RecordTable, type Rows } from './record-table.tsx'

type Receipt = Awaited<ReturnType<typeof api.announcements.receipts.query>>['rows'][number]

const PAGE_SIZE = 50
const ALL_SIZE = 1000

const columns = (): Column<Receipt>[] => [
  {
    key: 'username',
    label: t('app.admin.username'),
    cell: ({ userId, username }) => (
      <Link to="/admin/$section/$id" params={{ section: 'people', id: String(userId) }}>
        {username}
      </Link>
    ),
    text: ({ username }) => username,
  },
  { key: 'name', label: t('app.name'), cell: ({ name }) => name, text: ({ name }) => name },
  { key: 'seen', label: t('app.admin.seen'), cell: ({ seenAt }) => minuteText(seenAt), text: ({ seenAt }) => seenAt },
  {
    key: 'accepted',
    label: t('app.admin.accepted'),
    cell: ({ acceptedAt }) => (acceptedAt ? minuteText(acceptedAt) : t('app.admin.notYet')),
    text: ({ acceptedAt }) => acceptedAt,
  },
]

function useReceipts(id: string): Rows<Receipt> {
  const { filters } = useFilters()
  const input = { id, page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useRead(
    ['receipts', input],
    (signal) => api.announcements.receipts.query(input, { signal }),
    MINUTE_MS,
  )
  const readAll = async () => {
    const all: Receipt[] = []
    for (let page = 1; ; page++) {
      const { rows, hasMore } = await api.announcements.receipts.query({ id, page, size: ALL_SIZE })
      all.push(...rows)
      if (!hasMore) return all
    }
  }
  return { rows: data?.rows, error, hasMore: data?.hasMore ?? false, readAll }
}

/** Lists the people who have seen an announcement, and accepted it. */
export const AnnouncementReceipts = ({ id }: { id: string }) => (
  <RecordTable
    label={t('app.admin.receipts')}
    columns={columns()}
    rowKey={({ userId }) => userId}
    {...useReceipts(id)}
    none={t('app.admin.noReceipts')}
  />
)
