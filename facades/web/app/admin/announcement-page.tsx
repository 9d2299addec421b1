import { Link } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { t } from '../shared/text/labels.ts'
import { minuteText } from '../shared/text/moments.ts'
import { FormError } from '../shared/ui/form-dialog.tsx'
import { ActionButton } from './action-dialog.tsx'
import { MINUTE_MS, readPages, useRead } from './admin-queries.ts'
import { AnnouncementFields, readTexts } from './announcement-fields.tsx'
import { useFilters } from './filters.ts'
import { Part } from './part.tsx'
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
  const readAll = () => readPages((page) => api.announcements.receipts.query({ id, page, size: ALL_SIZE }))
  return { rows: data?.rows, error, hasMore: data?.hasMore ?? false, readAll }
}

/** Lists the people who have seen an announcement, and accepted it. */
const AnnouncementReceipts = ({ id }: { id: string }) => (
  <RecordTable
    label={t('app.admin.receipts')}
    columns={columns()}
    rowKey={({ userId }) => userId}
    {...useReceipts(id)}
    none={t('app.admin.noReceipts')}
  />
)

/** An announcement: its texts in each language, and who has read and accepted it. */
export function AnnouncementPage({ id }: { id: string }) {
  const { data: all, error } = useRead(['announcements'], (signal) =>
    api.announcements.list.query(undefined, { signal }),
  )
  const announcement = all?.find((each) => String(each.id) === id)
  if (error) return <FormError error={error} />
  if (!all) return <div className="admin-waiting" aria-busy="true" />
  if (!announcement) return <p>{t('app.error.not_found')}</p>
  const isFixed = announcement.isForced && announcement.accepted > 0
  return (
    <>
      <Texts id={id} title={announcement.title} isFixed={isFixed} />
      <AnnouncementReceipts id={id} />
    </>
  )
}

interface TextsProps {
  id: string
  title: string
  /** People have accepted it, so that it stays as it is. */
  isFixed: boolean
}

function Texts({ id, title, isFixed }: TextsProps) {
  const { data = [], error } = useRead(['texts', id], (signal) => api.announcements.texts.query({ id }, { signal }))
  const textIn = (locale: string) => data.find((text) => text.locale === locale)?.text ?? ''
  return (
    <Part title={title}>
      {error && <FormError error={error} />}
      <div className="compare">
        {data.map(({ locale, text }) => (
          <div key={locale} lang={locale.slice(0, 2)} className="preview">
            <Markdown text={text} />
          </div>
        ))}
      </div>
      {isFixed ? (
        <p className="hint">{t('app.admin.textsFixed')}</p>
      ) : (
        <div className="admin-buttons">
          <ActionButton
            label={t('app.admin.editTexts')}
            title={t('app.admin.editTextsOf', { title })}
            text={t('app.admin.editTextsText')}
            action={t('app.save')}
            act={(form) => api.announcements.changeTexts.mutate({ id, texts: readTexts(form) })}
          >
            <AnnouncementFields textIn={textIn} />
          </ActionButton>
        </div>
      )}
    </Part>
  )
}
