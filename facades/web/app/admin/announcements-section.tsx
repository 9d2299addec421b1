import { Link } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { CellText } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton } from './action-button.tsx'
import { MINUTE_MS, useRecords } from './admin-queries.ts'
import { columnsOf } from './columns.tsx'
import { Preview } from './form-fields.tsx'
import { usePagedRows } from './paged-rows.ts'
import { Loaded, Part, SideBySide } from './parts.tsx'
import { defineForm, defineWholeForm, FormButton, FormFields } from './record-form.tsx'
import { RecordTable } from './record-table.tsx'
import { defineSection } from './section.tsx'

type Announcement = Awaited<ReturnType<typeof api.announcements.list.query>>[number]

const column = columnsOf<Announcement>('announcements.publish')

const titleForm = defineForm('announcements.publish', ['title', 'texts'])
/** Everything else; the name of an event is for announcements that the service makes itself. */
const publishForm = defineWholeForm('announcements.publish', {
  first: ['type', 'start', 'expire', 'users', 'view', 'force'],
  elsewhere: ['title', 'texts', 'anchor'],
})
const textForm = defineForm('announcements.changeTexts', ['texts'])

const PublishButton = () => (
  <ActionButton
    label={t('app.admin.publish')}
    kind="primary"
    title={t('app.admin.publish')}
    text={t('app.admin.publishText')}
    action={t('app.admin.publish')}
    act={(form) => api.announcements.publish.mutate({ ...publishForm.read(form), ...titleForm.read(form) })}
  >
    <FormFields form={titleForm} />
    <FormFields form={publishForm} />
  </ActionButton>
)

const useAnnouncements = () =>
  useRecords(['announcements'], (signal) => api.announcements.list.query(undefined, { signal }))

/** Lists the announcements with the numbers of people who have read and accepted them. */
const AnnouncementList = defineSection({
  labels: { title: 'app.admin.announcements', search: 'app.field.title', none: 'app.admin.noAnnouncements' },
  useData: useAnnouncements,
  getRows: (announcements: readonly Announcement[]) => announcements,
  rowKey: ({ id }) => id,
  texts: ({ title }) => [title],
  columns: [
    column('title', {
      label: t('app.admin.announcement'),
      cell: ({ id, title, isForced }) => (
        <CellText note={isForced && t('app.admin.forced')}>
          <Link to="/admin/$section/$id" params={{ section: 'announcements', id: String(id) }}>
            {title}
          </Link>
        </CellText>
      ),
      isSortable: true,
    }),
    column('type'),
    column('startsAt', { kind: 'time', isSortable: true }),
    column('expiresAt', { kind: 'time', empty: t('app.admin.never') }),
    column('seen', { kind: 'number' }),
    column('accepted', { kind: 'number' }),
  ],
  actions: () => <PublishButton />,
})

export const AnnouncementsSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <AnnouncementList /> : <AnnouncementPage id={id} />

type Receipt = Awaited<ReturnType<typeof api.announcements.receipts.query>>['rows'][number]

const receiptColumn = columnsOf<Receipt>('announcements.receipts')
const receiptColumns = [
  receiptColumn('username', {
    cell: ({ userId, username }) => (
      <Link to="/admin/$section/$id" params={{ section: 'people', id: String(userId) }}>
        {username}
      </Link>
    ),
  }),
  receiptColumn('name'),
  receiptColumn('seenAt', { kind: 'time' }),
  receiptColumn('acceptedAt', { kind: 'time', empty: t('app.admin.notYet') }),
]

/** People who read an announcement are no change that the stream reports. */
const useReceipts: typeof useRecords = (key, read) => useRecords(key, read, MINUTE_MS)

/** Lists the people who have read an announcement, and whether they have accepted it. */
const AnnouncementReceipts = ({ id }: { id: string }) => {
  const { rows } = usePagedRows({
    key: `receipts of ${id}`,
    read: (_, page, options) => api.announcements.receipts.query({ id, ...page }, options),
    getRows: ({ rows: receipts }) => receipts,
    useData: useReceipts,
  })
  return (
    <RecordTable
      label={t('app.admin.receipts')}
      columns={receiptColumns}
      rowKey={({ userId }) => userId}
      {...rows}
      none={t('app.admin.noReceipts')}
    />
  )
}

/** An announcement: its texts by language, and its receipts. */
function AnnouncementPage({ id }: { id: string }) {
  const { data, error } = useAnnouncements()
  const announcement = data && (data.find((each) => String(each.id) === id) ?? null)
  return (
    <Loaded data={announcement} error={error}>
      {({ title, isForced, accepted }) => (
        <>
          <AnnouncementTexts id={id} title={title} isFixed={isForced && accepted > 0} />
          <AnnouncementReceipts id={id} />
        </>
      )}
    </Loaded>
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
  const record = { texts: Object.fromEntries(data.map(({ locale, text }) => [locale, text])) }
  return (
    <Part title={title}>
      <ErrorMessage error={error} />
      <SideBySide>
        {data.map(({ locale, text }) => (
          <Preview key={locale} lang={locale.slice(0, 2)} text={text} />
        ))}
      </SideBySide>
      {isFixed ? (
        <p className="hint">{t('app.admin.textsFixed')}</p>
      ) : (
        <Toolbar>
          <FormButton
            label={t('app.admin.editTexts')}
            title={t('app.admin.editTextsOf', { title })}
            text={t('app.admin.editTextsText')}
            record={record}
            form={textForm}
            save={(change) => api.announcements.changeTexts.mutate({ id, ...change })}
          />
        </Toolbar>
      )}
    </Part>
  )
}
