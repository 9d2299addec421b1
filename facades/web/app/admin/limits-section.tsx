import { useRef, useState } from 'react'
import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { describeError, InputError } from '../shared/api/error-text.ts'
import { getUsedShare, WARN_SHARE } from '../shared/limit-share.ts'
import { describeLimitCap, formatDateTime, formatLimitAmount, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Field } from '../shared/ui/field.tsx'
import { CellText } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton, RemoveButton } from './action-button.tsx'
import { MINUTE_MS, useRecords, withServiceReason } from './admin-queries.ts'
import { actionColumn, columnsOf } from './columns.tsx'
import { describeSubject } from './limit-texts.ts'
import { readText } from './member-values.ts'
import { StateBadge, TextBlock } from './parts.tsx'
import { defineWholeForm, FormFields } from './record-form.tsx'
import { ChoiceField } from './record-table.tsx'
import { defineSection } from './section.tsx'

type Limit = Awaited<ReturnType<typeof api.limits.list.query>>[number]
type Entry = Parameters<typeof api.limits.set.mutate>[0]

/** Describes the target of a limit; one that applies to each member of a kind says so. */
function describeTarget(limit: Limit): string {
  if (!isForEach(limit)) return describeSubject(limit)
  const kind = describeSubject({ ...limit, subjectId: '', subjectName: null })
  return [`${kind}: ${t('app.admin.each')}`, limit.subjectName ?? limit.subjectId].filter(Boolean).join(' · ')
}

const isForEach = ({ target, subject }: Limit) => subject !== 'installation' && target === subject

function UsageCell({ limit }: { limit: Limit }) {
  const { used, held, mode, refused, countsFrom } = limit
  const share = getUsedShare(limit)
  const notes = [
    mode === 'observe' && t('app.field.mode.observe'),
    refused > 0 && t('app.admin.refusals', { count: refused }),
    countsFrom !== null && t('app.admin.countsFrom', { at: formatDateTime(countsFrom) }),
  ]
  return (
    <CellText note={notes.filter(Boolean).join(' · ')}>
      <StateBadge kind={getShareState(share)}>
        {`${formatLimitAmount(limit, used + held)} (${formatNumber(Math.round(share * 100))} %)`}
      </StateBadge>
    </CellText>
  )
}

function getShareState(share: number): 'ok' | 'warn' | 'wrong' {
  if (share >= 1) return 'wrong'
  return share >= WARN_SHARE ? 'warn' : 'ok'
}

function LimitActions({ limit }: { limit: Limit }) {
  const { name, unit, subjectId, currency, fromFile } = limit
  return (
    <Toolbar>
      <ActionButton
        label={t('app.admin.topUp')}
        title={t('app.admin.topUpOf', { name })}
        text={t('app.admin.topUpText')}
        action={t('app.admin.topUp')}
        act={(form) => api.limits.topUp.mutate({ name, amount: Number(readText(form, 'amount')), id: subjectId })}
      >
        <Field
          label={unit === 'money' ? `${t('app.field.amount')} (${currency})` : t('app.field.amount')}
          name="amount"
          type="number"
          step="any"
          min={0}
          required
        />
      </ActionButton>
      {!fromFile && <SetLimit limit={limit} />}
      {!fromFile && (
        <RemoveButton
          title={t('app.admin.removeLimitOf', { name })}
          text={t('app.admin.removeLimitText')}
          act={() => api.limits.remove.mutate({ name })}
        />
      )}
    </Toolbar>
  )
}

const MICROS = 1_000_000

const newLimit = defineWholeForm('limits.set', {
  first: ['name', 'for', 'cap', 'unit', 'per', 'mode'],
  elsewhere: ['confirm'],
})
const changedLimit = defineWholeForm('limits.set', {
  first: ['for', 'cap', 'unit', 'per', 'mode'],
  elsewhere: ['name', 'confirm'],
})

/** The values that the fields of a new limit begin with. */
const firstValues = { unit: 'EUR', per: 'month' }

/** Converts a limit to the values of its fields. */
const toFieldValues = (limit: Limit) => ({
  for: limit.target,
  cap: limit.baseCap / (limit.unit === 'money' ? MICROS : 1),
  unit: limit.currency ?? limit.unit,
  per: limit.period,
  mode: limit.mode,
  timeZone: limit.timeZone,
  unpriced: limit.unpricedCost === null ? null : limit.unpricedCost / MICROS,
})

const readEntry = (form: FormData, limit?: Limit): Entry =>
  limit ? { ...changedLimit.read(form), name: limit.name } : newLimit.read(form)

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
      kind={limit ? 'quiet' : 'primary'}
      title={limit ? t('app.admin.editOf', { name: limit.name }) : t('app.admin.addLimit')}
      text={t('app.admin.limitText')}
      width="wide"
      action={t('app.save')}
      act={save}
    >
      <FormFields form={limit ? changedLimit : newLimit} record={limit ? toFieldValues(limit) : firstValues} />
      <Simulation {...(limit && { limit })} />
    </ActionButton>
  )
}

/** Shows how many recorded calls the limit in the surrounding form would have refused. */
function Simulation({ limit }: { limit?: Limit }) {
  const [outcome, setOutcome] = useState('')
  const container = useRef<HTMLDivElement>(null)
  const simulate = async () => {
    const form = container.current?.closest('form')
    if (!form?.reportValidity()) return
    const entry = readEntry(new FormData(form), limit)
    if (entry.unit === 'calls') return setOutcome(t('app.admin.callsNotSimulated'))
    setOutcome(t('page.working'))
    const response = api.limits.preview.query({ config: { limits: [entry] } })
    setOutcome(await response.then(describeSimulation, (error: unknown) => describeError(withServiceReason(error))))
  }
  return (
    <TextBlock ref={container}>
      <Button onClick={simulate}>{t('app.admin.simulate')}</Button>
      <p role="status">{outcome}</p>
    </TextBlock>
  )
}

function describeSimulation({ limits, totals }: Awaited<ReturnType<typeof api.limits.preview.query>>): string {
  const [calls, refused] = [formatNumber(totals.calls), formatNumber(limits[0]?.refused ?? 0)]
  return t('app.admin.simulated', { calls, refused, subjects: formatNumber(limits[0]?.subjects ?? 0) })
}

const column = columnsOf<Limit>('limits.set')

/** Lists all limits with their usage. */
export const LimitsSection = defineSection({
  labels: {
    title: 'app.admin.limits',
    search: 'app.admin.searchLimits',
    none: 'app.admin.noLimits',
    empty: 'app.admin.limitsEmpty',
  },
  useData: () => useRecords(['limits'], (signal) => api.limits.list.query(undefined, { signal }), MINUTE_MS),
  getRows: (limits: readonly Limit[]) => limits,
  rowKey: ({ name, subjectId }) => `${name} ${subjectId}`,
  texts: (limit) => [limit.name, describeTarget(limit)],
  columns: [
    column('name', {
      cell: ({ name, fromFile }) => (
        <CellText note={fromFile && t('app.admin.fromLimitsFile')}>
          <strong>{name}</strong>
        </CellText>
      ),
      isSortable: true,
    }),
    column('target', { label: t('app.field.for'), cell: describeTarget, text: describeTarget, isSortable: true }),
    column('cap', { cell: describeLimitCap, isNumber: false, isShort: true }),
    column('used', {
      label: t('app.admin.used'),
      cell: (limit) => <UsageCell limit={limit} />,
      text: getUsedShare,
      isSortable: true,
    }),
    column('resetsAt', { label: t('app.admin.resets'), kind: 'time' }),
    actionColumn((limit: Limit) => <LimitActions limit={limit} />),
  ],
  matchesFilters: (limit, { near }) => !near || getUsedShare(limit) >= WARN_SHARE,
  filters: () => <ChoiceField name="near" label={t('app.admin.used')} choices={[['yes', t('app.admin.near')]]} />,
  actions: () => <SetLimit />,
})
