import { api } from '../shared/api/client.ts'
import { formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ActionButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { actionColumn, columnsOf } from './columns.tsx'
import type { Filters } from './filters.ts'
import type { PageInput } from './paged-rows.ts'
import { definePagedSection } from './section.tsx'

type SharedLink = Awaited<ReturnType<typeof api.sharedLinks.overview.query>>['links'][number]

/** The most rows that the service returns at once. */
const MAX_ROWS = 200

async function readPage({ q }: Filters, { page, size }: PageInput, options?: { signal: AbortSignal }) {
  const offset = (page - 1) * size
  const input = { limit: size, offset, ...(q && { username: q }) }
  const { links, total } = await api.sharedLinks.overview.query(input, options)
  return { links, hasMore: offset + links.length < total }
}

async function readAll(filters: Filters): Promise<SharedLink[]> {
  const all: SharedLink[] = []
  for (let page = 1; ; page++) {
    const { links, hasMore } = await readPage(filters, { page, size: MAX_ROWS })
    all.push(...links)
    if (!hasMore) return all
  }
}

const column = columnsOf<SharedLink>('sharedLinks.overview')

const KILO = 1000

const readerLabels = {
  people: 'app.admin.readers.people',
  groups: 'app.admin.readers.groups',
  everybody: 'app.admin.readers.everybody',
} as const

/** Lists the links to copies of chats, which nobody here can open. */
export const LinksSection = definePagedSection({
  labels: {
    title: 'app.admin.links',
    search: 'app.admin.searchLinks',
    none: 'app.admin.noLinks',
    empty: 'app.admin.linksEmpty',
    about: 'app.admin.linksAbout',
  },
  key: 'links',
  read: readPage,
  readAll,
  getRows: ({ links }) => links,
  useData: useRecords,
  rowKey: ({ id }) => id,
  columns: () => [
    column('username', { label: t('app.admin.ofUser') }),
    column('audience', {
      label: t('app.admin.readers'),
      isShort: true,
      cell: ({ audience }) => t(readerLabels[audience]),
    }),
    column('bytes', {
      kind: 'number',
      label: t('app.admin.linkSize'),
      cell: ({ bytes }) => (bytes === null ? '' : `${formatNumber(Math.ceil(bytes / KILO))} kB`),
    }),
    column('createdAt', { kind: 'time', label: t('app.admin.linkCreated') }),
    column('endsAt', { kind: 'time', label: t('app.admin.ends') }),
    actionColumn<SharedLink>(({ id, username }) => (
      <ActionButton
        label={t('app.admin.endLink')}
        title={t('app.admin.endLinkOf', { name: username })}
        text={t('app.admin.endLinkText')}
        action={t('app.admin.endLink')}
        isDangerous
        act={() => api.sharedLinks.endAny.mutate({ id })}
      />
    )),
  ],
})
