import { useId } from 'react'
import { api } from '../../shared/api/client.ts'
import { formatDateTime } from '../../shared/text/formats.ts'
import { t } from '../../shared/text/labels.ts'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { useCall, useRecords } from '../admin-queries.ts'
import { useFilters } from '../filters.ts'
import { withFreshSession } from '../fresh-session.tsx'
import { StateBadge } from '../parts.tsx'
import { ChoiceField, type Column, DayField, RecordTable, type Rows } from '../record-table.tsx'
import { actGroups, describeOutcome } from './act-texts.ts'
import { describeReference, type Names } from './reference.tsx'
import { type Entry, Sentence, writeSentence } from './sentence.tsx'

const PAGE_SIZE = 50
const ALL_SIZE = 1000
const filterNames = ['act', 'actor', 'subject', 'outcome', 'from', 'to'] as const

/**
 * Reads the entries that match the filters. A page is read from the first entry on, as the audit log has no page
 * numbers.
 */
function useEntries(): Rows<Entry> {
  const { filters } = useFilters()
  const criteria = Object.fromEntries(filterNames.flatMap((name) => (filters[name] ? [[name, filters[name]]] : [])))
  const page = Number(filters['page'] ?? 1)
  const { data, error } = useRecords(['audit', criteria, page], async (signal) => {
    const limit = Math.min(ALL_SIZE, page * PAGE_SIZE)
    const { entries, names, next } = await api.audit.list.query({ ...criteria, limit }, { signal })
    const shown = entries.slice((page - 1) * PAGE_SIZE)
    return { entries: shown.map((entry): Entry => ({ ...entry, names })), hasMore: next !== null && limit < ALL_SIZE }
  })
  const readAll = async () => {
    const all: Entry[] = []
    let before: number | null = null
    do {
      const input: { limit: number; before?: number } = { limit: ALL_SIZE, ...(before !== null && { before }) }
      const { entries, names, next } = await api.audit.list.query({ ...criteria, ...input })
      all.push(...entries.map((entry): Entry => ({ ...entry, names })))
      before = next
    } while (before !== null)
    return all
  }
  return { rows: data?.entries, error, hasMore: data?.hasMore ?? false, readAll }
}

const OK_OUTCOME = 'ok'

const buildColumns = (): Column<Entry>[] => [
  { key: 'at', label: t('app.admin.at'), cell: ({ at }) => formatDateTime(at), text: ({ at }) => at },
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
  <details>
    <summary>{t('app.admin.details')}</summary>
    <pre>{JSON.stringify({ act, actor, subject, ...change, ...origin, requestId }, null, 2)}</pre>
  </details>
)

/** Lists the entries of the audit log. */
export function AuditSection() {
  const rows = useEntries()
  return (
    <RecordTable
      label={t('app.admin.audit')}
      columns={buildColumns()}
      rowKey={({ seq }) => seq}
      {...rows}
      none={t('app.admin.noEntries')}
      filters={
        <>
          <ActField />
          <ActorField />
          <SubjectField entries={rows.rows ?? []} />
          <DayField name="from" label={t('app.admin.from')} />
          <DayField name="to" label={t('app.admin.to')} />
        </>
      }
      actions={<VerifyLog />}
    />
  )
}

/** The filter by act, in groups. An act from a link is a choice, too. */
function ActField() {
  const { filters, setFilters } = useFilters()
  const id = useId()
  const { act = '' } = filters
  const isListed = actGroups.some(([, acts]) => acts.some(([value]) => value === act))
  return (
    <div className="field">
      <label htmlFor={id}>{t('app.admin.act')}</label>
      <select id={id} value={act} onChange={(event) => setFilters({ act: event.target.value })}>
        <option value="">{t('app.admin.all')}</option>
        {act !== '' && !isListed && <option value={act}>{act}</option>}
        {actGroups.map(([label, acts]) => (
          <optgroup key={label} label={t(label)}>
            {acts.map(([value, text]) => (
              <option key={value} value={value}>
                {t(text)}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
    </div>
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
      <button type="button" className="quiet-button" aria-disabled={isWorking} onClick={verify}>
        {t(isWorking ? 'page.working' : 'app.admin.verify')}
      </button>
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
