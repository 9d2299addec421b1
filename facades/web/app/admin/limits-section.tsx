import { useRef, useState } from 'react'
import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { describeError, InputError } from '../shared/api/error-text.ts'
import { getUsedShare, WARN_SHARE } from '../shared/limit-share.ts'
import { formatDateTime, formatLimitAmount, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { ActionButton } from './action-button.tsx'
import { MINUTE_MS, useRecords, withServiceReason } from './admin-queries.ts'
import { CheckInput, ChoiceInput, readText } from './form-fields.tsx'
import { describeSubject } from './limit-texts.ts'
import { useLocalRows } from './local-rows.ts'
import { StateBadge } from './parts.tsx'
import { ChoiceField, type Column, RecordTable, SearchField } from './record-table.tsx'

type Limit = Awaited<ReturnType<typeof api.limits.list.query>>[number]
type Entry = Parameters<typeof api.limits.set.mutate>[0]

/** Describes the target of a limit; one that applies to each member of a kind says so. */
function describeTarget(limit: Limit): string {
  if (!isForEach(limit)) return describeSubject(limit)
  const kind = describeSubject({ ...limit, subjectId: '', subjectName: null })
  return [`${kind}: ${t('app.admin.each')}`, limit.subjectName ?? limit.subjectId].filter(Boolean).join(' · ')
}

const isForEach = ({ target, subject }: Limit) => subject !== 'installation' && target === subject

const periodLabels = {
  minute: 'app.admin.perMinute',
  hour: 'app.admin.perHour',
  day: 'app.admin.perDay',
  week: 'app.admin.perWeek',
  month: 'app.admin.perMonth',
} as const

const buildColumns = (): Column<Limit>[] => [
  {
    key: 'name',
    label: t('app.name'),
    cell: ({ name, fromFile }) => (
      <span>
        <strong>{name}</strong>
        {fromFile && <span className="sub">{t('app.admin.fromLimitsFile')}</span>}
      </span>
    ),
    text: ({ name }) => name,
    isSortable: true,
  },
  { key: 'whom', label: t('app.admin.for'), cell: describeTarget, text: describeTarget, isSortable: true },
  {
    key: 'cap',
    label: t('app.admin.cap'),
    cell: (limit) =>
      `${formatLimitAmount(limit, limit.cap)} ${limit.unit === 'money' ? '' : t(unitLabels[limit.unit])} ${t(periodLabels[limit.period])}`,
    text: ({ cap }) => cap,
  },
  {
    key: 'used',
    label: t('app.admin.used'),
    cell: (limit) => <UsageCell limit={limit} />,
    text: getUsedShare,
    isSortable: true,
  },
  {
    key: 'resets',
    label: t('app.admin.resets'),
    cell: ({ resetsAt }) => formatDateTime(resetsAt),
    text: ({ resetsAt }) => resetsAt,
  },
  { key: 'actions', label: t('app.admin.actions'), cell: (limit) => <LimitActions limit={limit} /> },
]

const unitLabels = { requests: 'app.admin.requests', tokens: 'app.admin.tokens' } as const

function UsageCell({ limit }: { limit: Limit }) {
  const { used, held, mode, refused, countsFrom } = limit
  const share = getUsedShare(limit)
  return (
    <span>
      <StateBadge kind={getShareState(share)}>
        {`${formatLimitAmount(limit, used + held)} (${formatNumber(Math.round(share * 100))} %)`}
      </StateBadge>
      <span className="sub">
        {[
          mode === 'observe' && t('app.admin.observed'),
          refused > 0 && t('app.admin.refusals', { count: refused }),
          countsFrom !== null && t('app.admin.countsFrom', { at: formatDateTime(countsFrom) }),
        ]
          .filter(Boolean)
          .join(' · ')}
      </span>
    </span>
  )
}

function getShareState(share: number): 'ok' | 'warn' | 'wrong' {
  if (share >= 1) return 'wrong'
  return share >= WARN_SHARE ? 'warn' : 'ok'
}

function LimitActions({ limit }: { limit: Limit }) {
  const { name, unit, subjectId, currency, fromFile } = limit
  return (
    <span className="button-row">
      <ActionButton
        label={t('app.admin.topUp')}
        title={t('app.admin.topUpOf', { name })}
        text={t('app.admin.topUpText')}
        action={t('app.admin.topUp')}
        act={(form) => api.limits.topUp.mutate({ name, amount: Number(readText(form, 'amount')), id: subjectId })}
      >
        <Field
          label={unit === 'money' ? `${t('app.admin.amount')} (${currency})` : t('app.admin.amount')}
          name="amount"
          type="number"
          step="any"
          min={0}
          required
        />
      </ActionButton>
      {!fromFile && <SetLimit limit={limit} />}
      {!fromFile && (
        <ActionButton
          label={t('app.admin.remove')}
          title={t('app.admin.removeLimitOf', { name })}
          text={t('app.admin.removeLimitText')}
          action={t('app.admin.remove')}
          isDangerous
          act={() => api.limits.remove.mutate({ name })}
        />
      )}
    </span>
  )
}

const periods = ['minute', 'hour', 'day', 'week', 'month'] as const

const MICROS = 1_000_000

/** Reads the fields. Other members of the limit keep their values. */
function readEntry(form: FormData, limit?: Limit): Entry {
  return {
    name: limit?.name ?? readText(form, 'name'),
    for: readText(form, 'for'),
    cap: Number(readText(form, 'cap')),
    unit: readText(form, 'unit'),
    per: periods.find((period) => period === readText(form, 'per')) ?? 'day',
    mode: readText(form, 'mode') === 'observe' ? 'observe' : 'enforce',
    countFrom: form.has('countFromNow') ? 'now' : 'period',
    ...(limit && { timeZone: limit.timeZone }),
    ...(limit &&
      limit.unpricedCost !== null &&
      limit.currency === readText(form, 'unit') && { unpriced: limit.unpricedCost / MICROS }),
  }
}

/**
 * Creates or edits a limit, which can be simulated on recorded calls before. A person or group that does not exist is
 * taken when the form is saved a second time.
 */
function SetLimit({ limit }: { limit?: Limit }) {
  const refusedTarget = useRef<string>(undefined)
  const save = async (form: FormData) => {
    const entry = readEntry(form, limit)
    try {
      await api.limits.set.mutate({ ...entry, confirm: entry.for === refusedTarget.current })
    } catch (error) {
      if (!(error instanceof SvcError) || error.code !== 'confirmation_needed') throw error
      refusedTarget.current = entry.for
      throw new InputError(`${error.message} ${t('app.admin.saveAgain')}`)
    }
  }
  return (
    <ActionButton
      label={limit ? t('app.admin.edit') : t('app.admin.addLimit')}
      className={limit ? 'quiet-button' : 'button'}
      title={limit ? t('app.admin.editOf', { name: limit.name }) : t('app.admin.addLimit')}
      text={t('app.admin.limitText')}
      action={t('app.save')}
      act={save}
    >
      <LimitFields {...(limit && { limit })} />
    </ActionButton>
  )
}

/** Converts a limit to the values of its fields. */
const toFieldValues = (limit: Limit) => ({
  name: limit.name,
  target: limit.target,
  cap: limit.baseCap / (limit.unit === 'money' ? MICROS : 1),
  unit: limit.currency ?? limit.unit,
  period: limit.period,
  mode: limit.mode,
})
const defaultValues = { name: '', target: '', cap: '', unit: 'EUR', period: 'month', mode: 'enforce' } as const

function LimitFields({ limit }: { limit?: Limit }) {
  const values = limit ? toFieldValues(limit) : defaultValues
  return (
    <>
      <div className="field-pair">
        <Field
          label={t('app.name')}
          name="name"
          defaultValue={values.name}
          readOnly={limit !== undefined}
          required
          maxLength={80}
          autoComplete="off"
        />
        <Field
          label={t('app.admin.for')}
          name="for"
          defaultValue={values.target}
          required
          hint={t('app.admin.forHint')}
          autoComplete="off"
        />
      </div>
      <div className="field-pair">
        <Field
          label={t('app.admin.cap')}
          name="cap"
          type="number"
          step="any"
          min={0}
          required
          defaultValue={values.cap}
        />
        <Field
          label={t('app.admin.unit')}
          name="unit"
          defaultValue={values.unit}
          required
          hint={t('app.admin.unitHint')}
        />
      </div>
      <PeriodFields {...values} />
      <CheckInput label={t('app.admin.countFromNow')} name="countFromNow" isChecked={false} />
      <Simulation {...(limit && { limit })} />
    </>
  )
}

/** Shows how many recorded calls the limit in the surrounding form would have refused. */
function Simulation({ limit }: { limit?: Limit }) {
  const [outcome, setOutcome] = useState('')
  const container = useRef<HTMLDivElement>(null)
  const simulate = async () => {
    const form = container.current?.closest('form')
    if (!form?.reportValidity()) return
    setOutcome(t('page.working'))
    const response = api.limits.preview.query({ config: { limits: [readEntry(new FormData(form), limit)] } })
    setOutcome(await response.then(describeSimulation, (error: unknown) => describeError(withServiceReason(error))))
  }
  return (
    <div ref={container} className="admin-text">
      <button type="button" className="quiet-button" onClick={simulate}>
        {t('app.admin.simulate')}
      </button>
      <p role="status">{outcome}</p>
    </div>
  )
}

function describeSimulation({ limits, totals }: Awaited<ReturnType<typeof api.limits.preview.query>>): string {
  const [calls, refused] = [formatNumber(totals.calls), formatNumber(limits[0]?.refused ?? 0)]
  return t('app.admin.simulated', { calls, refused, subjects: formatNumber(limits[0]?.subjects ?? 0) })
}

/** Lists all limits with their usage. */
export function LimitsSection() {
  const { data, error } = useRecords(['limits'], (signal) => api.limits.list.query(undefined, { signal }), MINUTE_MS)
  const rows = useLocalRows({
    records: data,
    error,
    columns: buildColumns(),
    texts: (limit) => [limit.name, describeTarget(limit)],
    matchesFilters: (limit, { near }) => !near || getUsedShare(limit) >= WARN_SHARE,
  })
  return (
    <RecordTable
      label={t('app.admin.limits')}
      columns={buildColumns()}
      rowKey={({ name, subjectId }) => `${name} ${subjectId}`}
      {...rows}
      none={t('app.admin.noLimits')}
      filters={
        <>
          <SearchField name="q" label={t('app.admin.searchLimits')} />
          <ChoiceField name="near" label={t('app.admin.used')} choices={[['yes', t('app.admin.near')]]} />
        </>
      }
      actions={<SetLimit />}
    />
  )
}

/** Fields for the period and the mode of a limit. */
const PeriodFields = ({ period, mode }: Pick<Limit, 'period' | 'mode'>) => (
  <div className="field-pair">
    <ChoiceInput
      label={t('app.admin.per')}
      name="per"
      value={period}
      choices={periods.map((each) => [each, t(periodLabels[each])])}
    />
    <ChoiceInput
      label={t('app.admin.mode')}
      name="mode"
      value={mode}
      choices={[
        ['enforce', t('app.admin.enforced')],
        ['observe', t('app.admin.observed')],
      ]}
    />
  </div>
)
