import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { Differences } from '../shared/assistants/differences.tsx'
import { withFreshSession } from '../shared/fresh-session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { TextArea } from '../shared/ui/input.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { CellText } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { actionColumn, columnsOf } from './columns.tsx'
import type { Filters } from './filters.ts'
import type { PageInput } from './paged-rows.ts'
import { definePagedSection } from './section.tsx'

type WaitingAssistant = Awaited<ReturnType<typeof api.assistants.waiting.query>>['assistants'][number]

/** The most rows that the service returns at once. */
const MAX_ROWS = 200

const MAX_REASON = 1000

async function readPage(_: Filters, { page, size }: PageInput, options?: { signal: AbortSignal }) {
  const offset = (page - 1) * size
  const { assistants, total } = await api.assistants.waiting.query({ limit: size, offset }, options)
  return { assistants, hasMore: offset + assistants.length < total }
}

async function readAll(filters: Filters): Promise<WaitingAssistant[]> {
  const all: WaitingAssistant[] = []
  for (let page = 1; ; page++) {
    const { assistants, hasMore } = await readPage(filters, { page, size: MAX_ROWS })
    all.push(...assistants)
    if (!hasMore) return all
  }
}

/** Shows word by word how a version differs from the approved one, or all of one that is the first. */
function ReviewedChange({ handle }: WaitingAssistant) {
  // It is read once, as a version that came while this one is read would be decided on unseen.
  const { data, error } = useQuery({
    queryKey: ['reviewed assistant', handle],
    queryFn: ({ signal }) => withFreshSession(() => api.assistants.review.query({ handle }, { signal })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (error) return <ErrorMessage error={error} />
  if (!data) return <Skeleton height="low" />
  // A version that only some people have had until now was never approved, so all of it is shown.
  const approved = data.audience === 'all' ? data.publishedContent : null
  return (
    <>
      <input type="hidden" name="version" value={data.version} />
      <Differences before={approved ?? emptyContent} after={data.content} />
      {data.hasChangedFiles && <p className="hint">{t('app.assistants.changedFiles')}</p>}
    </>
  )
}

/** Returns the version that is shown; throws before there is one. */
function readVersion(form: FormData): number {
  const version = form.get('version')
  if (version === null) throw new InputError(t('page.working'))
  return Number(version)
}

const emptyContent = { name: '', model: '' }

const Approve = ({ assistant }: { assistant: WaitingAssistant }) => {
  const { handle, name, version } = assistant
  return (
    <ActionButton
      label={t('app.admin.approveAssistant')}
      title={t('app.admin.approveAssistantOf', { name, version })}
      text={t('app.admin.approveAssistantText')}
      action={t('app.admin.approveAssistant')}
      width="wide"
      act={(form) => api.assistants.approve.mutate({ handle, version: readVersion(form) })}
    >
      <ReviewedChange {...assistant} />
    </ActionButton>
  )
}

const Refuse = ({ assistant }: { assistant: WaitingAssistant }) => {
  const { handle, name, version } = assistant
  return (
    <ActionButton
      label={t('app.admin.refuseAssistant')}
      title={t('app.admin.refuseAssistantOf', { name, version })}
      text={t('app.admin.refuseAssistantText')}
      action={t('app.admin.refuseAssistant')}
      isDangerous
      width="wide"
      act={(form) => {
        const reason = String(form.get('reason') ?? '')
        return api.assistants.refuse.mutate({ handle, version: readVersion(form), reason })
      }}
    >
      <ReviewedChange {...assistant} />
      <LabelledField label={t('app.admin.refusalReason')}>
        {(control) => <TextArea {...control} name="reason" rows={3} maxLength={MAX_REASON} required dir="auto" />}
      </LabelledField>
    </ActionButton>
  )
}

const column = columnsOf<WaitingAssistant>('assistants.waiting')

/** Lists the assistants of which a version waits to be read and approved. */
export const AssistantsSection = definePagedSection({
  labels: { title: 'app.admin.assistants', none: 'app.admin.noWaiting', about: 'app.admin.assistantsAbout' },
  key: 'assistants',
  read: readPage,
  readAll,
  getRows: ({ assistants }) => assistants,
  useData: useRecords,
  rowKey: ({ handle }) => handle,
  columns: () => [
    column('name', {
      label: t('app.name'),
      cell: ({ name, handle }) => <CellText note={`@${handle}`}>{name}</CellText>,
    }),
    column('owner', { label: t('app.assistants.owner'), empty: t('app.assistants.house') }),
    column('version', { kind: 'number', label: t('app.admin.waitingVersion') }),
    column('waitingSince', { kind: 'time', label: t('app.admin.waitingSince') }),
    actionColumn<WaitingAssistant>((assistant) => (
      <Toolbar>
        <Approve assistant={assistant} />
        <Refuse assistant={assistant} />
      </Toolbar>
    )),
  ],
})
