import { Link } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { formatDateTime, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Field } from '../shared/ui/field.tsx'
import { ActionButton } from './action-button.tsx'
import { MINUTE_MS, readPages, useRecords } from './admin-queries.ts'
import { useFilters } from './filters.ts'
import { CheckInput, ChoiceInput, readText, readWords, TextWithPreview } from './form-fields.tsx'
import { useLocalRows } from './local-rows.ts'
import { Part, StaleNotice } from './parts.tsx'
import { type Column, RecordTable, type Rows, SearchField } from './record-table.tsx'

type Announcement = Awaited<ReturnType<typeof api.announcements.list.query>>[number]

const types = ['info', 'news', 'event', 'system', 'policy'] as const
const typeLabels = {
  info: 'app.admin.typeInfo',
  news: 'app.admin.typeNews',
  event: 'app.admin.typeEvent',
  system: 'app.admin.typeSystem',
  policy: 'app.admin.typePolicy',
} as const

const buildColumns = (): Column<Announcement>[] => [
  {
    key: 'title',
    label: t('app.admin.announcement'),
    cell: ({ id, title, isForced }) => (
      <span>
        <Link to="/admin/$section/$id" params={{ section: 'announcements', id: String(id) }}>
          {title}
        </Link>
        {isForced && <span className="sub">{t('app.admin.forced')}</span>}
      </span>
    ),
    text: ({ title }) => title,
    isSortable: true,
  },
  { key: 'type', label: t('app.admin.kind'), cell: ({ type }) => t(typeLabels[type]), text: ({ type }) => type },
  {
    key: 'starts',
    label: t('app.admin.from'),
    cell: ({ startsAt }) => formatDateTime(startsAt),
    text: ({ startsAt }) => startsAt,
    isSortable: true,
  },
  {
    key: 'ends',
    label: t('app.admin.ends'),
    cell: ({ expiresAt }) => (expiresAt ? formatDateTime(expiresAt) : t('app.admin.never')),
    text: ({ expiresAt }) => expiresAt,
  },
  {
    key: 'seen',
    label: t('app.admin.seen'),
    cell: ({ seen }) => formatNumber(seen),
    text: ({ seen }) => seen,
    isNumber: true,
  },
  {
    key: 'accepted',
    label: t('app.admin.accepted'),
    cell: ({ accepted }) => formatNumber(accepted),
    text: ({ accepted }) => accepted,
    isNumber: true,
  },
]

/** Reads a local date and time as an ISO timestamp. */
const readMoment = (form: FormData, name: string) => {
  const text = readText(form, name)
  return text === '' ? undefined : new Date(text).toISOString()
}

function publishAnnouncement(form: FormData) {
  const [start, expire, users] = [readMoment(form, 'start'), readMoment(form, 'expire'), readWords(form, 'users')]
  const view = readText(form, 'view')
  const texts = readTexts(form)
  return api.announcements.publish.mutate({
    title: readText(form, 'title'),
    ...(view && { view }),
    ...(Object.keys(texts).length > 0 && { texts }),
    type: types.find((type) => type === readText(form, 'type')) ?? 'info',
    force: form.has('force'),
    ...(users.length > 0 && { users }),
    ...(start && { start }),
    ...(expire && { expire }),
  })
}

const PublishButton = () => (
  <ActionButton
    label={t('app.admin.publish')}
    className="button"
    title={t('app.admin.publish')}
    text={t('app.admin.publishText')}
    action={t('app.admin.publish')}
    act={publishAnnouncement}
  >
    <Field label={t('app.admin.title')} name="title" required maxLength={200} />
    <AnnouncementFields />
    <Field label={t('app.admin.view')} name="view" hint={t('app.admin.viewHint')} autoComplete="off" />
    <ChoiceInput
      label={t('app.admin.kind')}
      name="type"
      value="info"
      choices={types.map((type) => [type, t(typeLabels[type])])}
    />
    <div className="field-pair">
      <Field label={t('app.admin.from')} name="start" type="datetime-local" />
      <Field label={t('app.admin.to')} name="expire" type="datetime-local" />
    </div>
    <Field label={t('app.admin.onlyFor')} name="users" hint={t('app.admin.groupsHint')} autoComplete="off" />
    <CheckInput label={t('app.admin.forcedLong')} name="force" isChecked={false} />
  </ActionButton>
)

export const AnnouncementsSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <AnnouncementList /> : <AnnouncementPage id={id} />

/** Lists the announcements with the numbers of people who have read and accepted them. */
function AnnouncementList() {
  const { data, error } = useRecords(['announcements'], (signal) => api.announcements.list.query(undefined, { signal }))
  const rows = useLocalRows({ records: data, error, columns: buildColumns(), texts: ({ title }) => [title] })
  return (
    <RecordTable
      label={t('app.admin.announcements')}
      columns={buildColumns()}
      rowKey={({ id }) => id}
      {...rows}
      none={t('app.admin.noAnnouncements')}
      filters={<SearchField name="q" label={t('app.admin.title')} />}
      actions={<PublishButton />}
    />
  )
}

type Receipt = Awaited<ReturnType<typeof api.announcements.receipts.query>>['rows'][number]

const PAGE_SIZE = 50
const ALL_SIZE = 1000

const buildReceiptColumns = (): Column<Receipt>[] => [
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
  {
    key: 'seen',
    label: t('app.admin.seen'),
    cell: ({ seenAt }) => formatDateTime(seenAt),
    text: ({ seenAt }) => seenAt,
  },
  {
    key: 'accepted',
    label: t('app.admin.accepted'),
    cell: ({ acceptedAt }) => (acceptedAt ? formatDateTime(acceptedAt) : t('app.admin.notYet')),
    text: ({ acceptedAt }) => acceptedAt,
  },
]

function useReceipts(id: string): Rows<Receipt> {
  const { filters } = useFilters()
  const input = { id, page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useRecords(
    ['receipts', input],
    (signal) => api.announcements.receipts.query(input, { signal }),
    MINUTE_MS,
  )
  const readAll = () => readPages((page) => api.announcements.receipts.query({ id, page, size: ALL_SIZE }))
  return { rows: data?.rows, error, hasMore: data?.hasMore ?? false, readAll }
}

/** Lists the people who have read an announcement, and whether they have accepted it. */
const AnnouncementReceipts = ({ id }: { id: string }) => (
  <RecordTable
    label={t('app.admin.receipts')}
    columns={buildReceiptColumns()}
    rowKey={({ userId }) => userId}
    {...useReceipts(id)}
    none={t('app.admin.noReceipts')}
  />
)

/** An announcement: its texts by language, and its receipts. */
function AnnouncementPage({ id }: { id: string }) {
  const { data: all, error } = useRecords(['announcements'], (signal) =>
    api.announcements.list.query(undefined, { signal }),
  )
  const announcement = all?.find((each) => String(each.id) === id)
  if (error && !all) return <ErrorMessage error={error} />
  if (!all) return <div className="admin-waiting" aria-busy="true" />
  if (!announcement) return <p>{t('app.error.not_found')}</p>
  const isFixed = announcement.isForced && announcement.accepted > 0
  return (
    <>
      <StaleNotice error={error} />
      <AnnouncementTexts id={id} title={announcement.title} isFixed={isFixed} />
      <AnnouncementReceipts id={id} />
    </>
  )
}

interface AnnouncementTextsProps {
  id: string
  title: string
  /** True once people have accepted it, when it can no longer be changed. */
  isFixed: boolean
}

function AnnouncementTexts({ id, title, isFixed }: AnnouncementTextsProps) {
  const { data = [], error } = useRecords(['texts', id], (signal) => api.announcements.texts.query({ id }, { signal }))
  const getText = (locale: string) => data.find((text) => text.locale === locale)?.text ?? ''
  return (
    <Part title={title}>
      <ErrorMessage error={error} />
      <div className="compare">
        {data.map(({ locale, text }) => (
          <div key={locale} lang={locale.slice(0, 2)} className="text-preview">
            <Markdown text={text} />
          </div>
        ))}
      </div>
      {isFixed ? (
        <p className="hint">{t('app.admin.textsFixed')}</p>
      ) : (
        <div className="button-row">
          <ActionButton
            label={t('app.admin.editTexts')}
            title={t('app.admin.editTextsOf', { title })}
            text={t('app.admin.editTextsText')}
            action={t('app.save')}
            act={(form) => api.announcements.changeTexts.mutate({ id, texts: readTexts(form) })}
          >
            <AnnouncementFields getText={getText} />
          </ActionButton>
        </div>
      )}
    </Part>
  )
}

/** Fields for the texts of an announcement by language, with a preview. */
const AnnouncementFields = ({ getText = () => '' }: { getText?: (locale: string) => string }) => (
  <>
    <TextWithPreview
      label={t('app.admin.germanText')}
      name="de_DE"
      value={getText('de_DE')}
      hint={t('app.admin.textHint')}
    />
    <TextWithPreview
      label={t('app.admin.englishText')}
      name="en_US"
      value={getText('en_US')}
      hint={t('app.admin.textHint')}
    />
  </>
)

/** Reads the texts, without empty ones. */
function readTexts(form: FormData): { de_DE?: string; en_US?: string } {
  const [de, en] = [readText(form, 'de_DE'), readText(form, 'en_US')]
  return { ...(de && { de_DE: de }), ...(en && { en_US: en }) }
}
