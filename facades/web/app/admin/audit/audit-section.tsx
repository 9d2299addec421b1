import { api } from '../../shared/api/client.ts'
import { withFreshSession } from '../../shared/fresh-session.tsx'
import { formatDateTime } from '../../shared/text/formats.ts'
import { t } from '../../shared/text/labels.ts'
import { Button } from '../../shared/ui/button.tsx'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { useCall, useRecords } from '../admin-queries.ts'
import { type Filters, useFilters } from '../filters.ts'
import { ALL_SIZE, type PageInput } from '../paged-rows.ts'
import { Folded, Preformatted, StateBadge } from '../parts.tsx'
import { ChoiceField, type Column, DayField } from '../record-table.tsx'
import { definePagedSection } from '../section.tsx'
import { actGroups, describeOutcome } from './act-texts.ts'
import { describeReference, type Names } from './reference.tsx'
import { type Entry, Sentence, writeSentence } from './sentence.tsx'

const filterNames = ['act', 'actor', 'subject', 'outcome', 'from', 'to'] as const

const toCriteria = (filters: Filters) =>
  Object.fromEntries(filterNames.flatMap((name) => (filters[name] ? [[name, filters[name]]] : [])))

type EntriesInput = NonNullable<Parameters<typeof api.audit.list.query>[0]>

async function readEntries(input: EntriesInput, options?: { signal: AbortSignal }) {
  const { entries, names, next } = await api.audit.list.query(input, options)
  return { entries: entries.map((entry): Entry => ({ ...entry, names })), next }
}

/** Reads a page from the first entry on, as the audit log has no page numbers. */
async function readPage(filters: Filters, { page, size }: PageInput, options?: { signal: AbortSignal }) {
  const limit = Math.min(ALL_SIZE, page * size)
  const { entries, next } = await readEntries({ ...toCriteria(filters), limit }, options)
  return { entries: entries.slice((page - 1) * size), hasMore: next !== null && limit < ALL_SIZE }
}

async function readAll(filters: Filters): Promise<Entry[]> {
  const all: Entry[] = []
  let before: number | null = null
  do {
    const input: EntriesInput = { ...toCriteria(filters), limit: ALL_SIZE, ...(before !== null && { before }) }
    const { entries, next } = await readEntries(input)
    all.push(...entries)
    before = next
  } while (before !== null)
  return all
}

const OK_OUTCOME = 'ok'

const buildColumns = (): Column<Entry>[] => [
  { key: 'at', label: t('app.admin.at'), cell: ({ at }) => formatDateTime(at), text: ({ at }) => at, isShort: true },
  {
    key: 'sentence',
    label: t('app.audit.what'),
    cell: (entry) => (
      <div>
        <Sentence entry={entry} />
        <Details {...entry} />
      </div>
    ),
    text: writeSentence,
  },
  { key: 'actor', label: t('app.admin.actor'), text: ({ actor }) => actor },
  { key: 'act', label: t('app.admin.act'), text: ({ act }) => act },
  { key: 'subject', label: t('app.admin.subject'), text: ({ subject }) => subject },
  {
    key: 'outcome',
    label: t('app.admin.outcome'),
    cell: ({ outcome }) => (
      <StateBadge kind={outcome === OK_OUTCOME ? 'ok' : 'wrong'} title={outcome}>
        {describeOutcome(outcome)}
      </StateBadge>
    ),
    text: ({ outcome }) => outcome,
  },
  {
    key: 'change',
    label: t('app.admin.change'),
    text: ({ change }) => JSON.stringify(change),
  },
]

/** The recorded act and data of an entry, folded. */
const Details = ({ act, actor, subject, change, origin, requestId }: Entry) => (
  <Folded summary={t('app.admin.details')}>
    <Preformatted>{JSON.stringify({ act, actor, subject, ...change, ...origin, requestId }, null, 2)}</Preformatted>
  </Folded>
)

/** Lists the entries of the audit log. */
export const AuditSection = definePagedSection({
  labels: { title: 'app.admin.audit', none: 'app.admin.noEntries' },
  key: 'audit',
  read: readPage,
  readAll,
  getRows: ({ entries }) => entries,
  useData: useRecords,
  rowKey: ({ seq }) => seq,
  columns: buildColumns,
  filters: (data) => (
    <>
      <ActField />
      <ActorField />
      <SubjectField entries={data?.entries ?? []} />
      <DayField name="from" label={t('app.admin.from')} />
      <DayField name="to" label={t('app.admin.to')} />
    </>
  ),
  actions: () => <VerifyLog />,
})

/** The filter by act, in groups. An act from a link is a choice, too. */
function ActField() {
  const { act } = useFilters().filters
  const isListed = actGroups.some(([, acts]) => acts.some(([value]) => value === act))
  return (
    <ChoiceField
      name="act"
      label={t('app.admin.act')}
      choices={act === undefined || isListed ? [] : [[act, act]]}
      groups={actGroups.map(([label, acts]) => [t(label), acts.map(([value, text]) => [value, t(text)])])}
    />
  )
}

/** The filter by actor: those of the latest entries. */
function ActorField() {
  const { filters } = useFilters()
  const { data } = useRecords(['actors'], (signal) => api.audit.actors.query(undefined, { signal }))
  const { actors = [], names = {} } = data ?? {}
  return (
    <ChoiceField
      name="actor"
      label={t('app.admin.actor')}
      choices={listChoices([...actors, filters['actor']], names)}
    />
  )
}

/** The filter by subject: those of the entries that are shown. */
function SubjectField({ entries }: { entries: readonly Entry[] }) {
  const { filters } = useFilters()
  const subjects = [...entries.map(({ subject }) => subject), filters['subject']]
  return (
    <ChoiceField
      name="subject"
      label={t('app.admin.subject')}
      choices={listChoices(subjects, entries[0]?.names ?? {})}
    />
  )
}

/** Lists references as choices, by their names. */
const listChoices = (references: readonly (string | null | undefined)[], names: Names) =>
  [...new Set(references.filter((reference) => reference !== null && reference !== undefined && reference !== ''))]
    .map((reference): [string, string] => [reference ?? '', describeReference(reference ?? '', names)])
    .sort(([, a], [, b]) => a.localeCompare(b))

type Verdict = Awaited<ReturnType<typeof api.audit.verify.query>>

/** Verifies the hash chain, which reveals entries that were changed or removed. */
function VerifyLog() {
  const { isWorking, result, error, run } = useCall<Verdict>()
  const verify = () => run(() => withFreshSession(() => api.audit.verify.query({})))
  return (
    <>
      <Button aria-disabled={isWorking} onClick={verify}>
        {t(isWorking ? 'page.working' : 'app.admin.verify')}
      </Button>
      <span role="status">{result && <VerdictText {...result} />}</span>
      <ErrorMessage error={error} />
    </>
  )
}

const VerdictText = ({ isWhole, entries, findings }: Verdict) => (
  <StateBadge kind={isWhole ? 'ok' : 'wrong'}>
    {isWhole
      ? t('app.admin.chainWhole', { count: entries })
      : t('app.admin.chainBroken', { reason: findings.map(({ seq, problem }) => `${seq} ${problem}`).join('; ') })}
  </StateBadge>
)
