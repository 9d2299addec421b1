import { Link } from '@tanstack/react-router'
import { api } from '../shared/api/client.ts'
import { numberText } from '../shared/text/amounts.ts'
import { t } from '../shared/text/labels.ts'
import { minuteText } from '../shared/text/moments.ts'
import { Field } from '../shared/ui/field.tsx'
import { ActionButton, readText, readWords } from './action-dialog.tsx'
import { useRead } from './admin-queries.ts'
import { AnnouncementFields, readTexts } from './announcement-fields.tsx'
import { AnnouncementPage } from './announcement-page.tsx'
import { CheckInput, ChoiceInput } from './choice-input.tsx'
import { useLocalRows } from './local-rows.ts'
import { type Column, RecordTable, SearchField } from './record-table.tsx'

type Announcement = Awaited<ReturnType<typeof api.announcements.list.query>>[number]

const types = ['info', 'news', 'event', 'system', 'policy'] as const
const typeLabels = {
  info: 'app.admin.typeInfo',
  news: 'app.admin.typeNews',
  event: 'app.admin.typeEvent',
  system: 'app.admin.typeSystem',
  policy: 'app.admin.typePolicy',
} as const

const columns = (): Column<Announcement>[] => [
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
    cell: ({ startsAt }) => minuteText(startsAt),
    text: ({ startsAt }) => startsAt,
    isSortable: true,
  },
  {
    key: 'ends',
    label: t('app.admin.ends'),
    cell: ({ expiresAt }) => (expiresAt ? minuteText(expiresAt) : t('app.admin.never')),
    text: ({ expiresAt }) => expiresAt,
  },
  {
    key: 'seen',
    label: t('app.admin.seen'),
    cell: ({ seen }) => numberText(seen),
    text: ({ seen }) => seen,
    isNumber: true,
  },
  {
    key: 'accepted',
    label: t('app.admin.accepted'),
    cell: ({ accepted }) => numberText(accepted),
    text: ({ accepted }) => accepted,
    isNumber: true,
  },
]

/** A moment of the time zone of the browser. */
const readMoment = (form: FormData, name: string) => {
  const text = readText(form, name)
  return text === '' ? undefined : new Date(text).toISOString()
}

function publish(form: FormData) {
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

const Publish = () => (
  <ActionButton
    label={t('app.admin.publish')}
    className="button"
    title={t('app.admin.publish')}
    text={t('app.admin.publishText')}
    action={t('app.admin.publish')}
    act={publish}
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

/** Lists announcements with how many have read and accepted them. */
function AnnouncementList() {
  const { data, error } = useRead(['announcements'], (signal) => api.announcements.list.query(undefined, { signal }))
  const rows = useLocalRows({ all: data, error, columns: columns(), texts: ({ title }) => [title] })
  return (
    <RecordTable
      label={t('app.admin.announcements')}
      columns={columns()}
      rowKey={({ id }) => id}
      {...rows}
      none={t('app.admin.noAnnouncements')}
      filters={<SearchField name="q" label={t('app.admin.title')} />}
      actions={<Publish />}
    />
  )
}
