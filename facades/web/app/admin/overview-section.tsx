import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api } from '../shared/api/client.ts'
import { formatMoney, formatNumber, formatUtcDay } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { MINUTE_MS, useFigures, useRecords } from './admin-queries.ts'
import { BarChart } from './bar-chart.tsx'
import { findChoice } from './filters.ts'
import { Part, PlainTable, StateBadge } from './parts.tsx'
import type { SectionName } from './sections.ts'

/** The health of the service, open decisions and usage. */
export const OverviewSection = () => (
  <>
    <Health />
    <Decisions />
    <DailyUsage />
    <UsageRanking by="model" title={t('app.admin.byModel')} />
    <UsageRanking by="provider" title={t('app.admin.byProvider')} />
    <UsageRanking by="group" title={t('app.admin.byGroup')} />
    <ModelQuality order="slowest" title={t('app.admin.slowest')} />
    <ModelQuality order="failing" title={t('app.admin.failing')} />
  </>
)

function Health() {
  const { data, error } = useFigures(['health'], (signal) => api.overview.health.query(undefined, { signal }))
  return (
    <Part title={t('app.admin.health')}>
      <ErrorMessage error={error} />
      {!data && !error && <div className="admin-waiting low" aria-busy="true" />}
      {data && (
        <>
          <p>
            <StateBadge kind={data.status === 'healthy' ? 'ok' : 'wrong'}>
              {t(data.status === 'healthy' ? 'app.admin.allWell' : 'app.admin.notWell')}
            </StateBadge>
          </p>
          <ul className="tiles">
            {data.parts.map(({ name, status, message }) => (
              <li key={name} title={message}>
                <StateBadge kind={status === 'ok' ? 'ok' : 'wrong'}>{getPartLabel(name)}</StateBadge>
                {status !== 'ok' && <p className="hint">{message}</p>}
              </li>
            ))}
          </ul>
          {data.replicas.length > 0 && (
            <PlainTable
              label={t('app.admin.otherReplicas')}
              heads={[
                t('app.admin.replica'),
                t('app.admin.health'),
                `#${t('app.admin.connections')}`,
                `#${t('app.admin.behind')}`,
              ]}
              rows={data.replicas.map(({ replica, failing, connections, behind }) => ({
                key: replica,
                cells: [
                  replica,
                  <ReplicaState key="health" failing={failing} />,
                  formatNumber(connections),
                  formatNumber(behind),
                ],
              }))}
            />
          )}
        </>
      )}
    </Part>
  )
}

const partLabels = {
  database: 'app.admin.partDatabase',
  cache: 'app.admin.partCache',
  kvstore: 'app.admin.partKvstore',
  storage: 'app.admin.partStorage',
  changeBus: 'app.admin.partChangeBus',
} as const
const parts = ['database', 'cache', 'kvstore', 'storage', 'changeBus'] as const

/** Returns the label of a part. Parts of extensions show their own name. */
function getPartLabel(name: string): string {
  const part = findChoice(parts, name)
  return part ? t(partLabels[part]) : name
}

/** The health of another replica, as it reports it. */
function ReplicaState({ failing }: { failing: readonly string[] | null }) {
  if (failing === null) return <StateBadge kind="idle">{t('app.admin.partsUnknown')}</StateBadge>
  if (failing.length === 0) return <StateBadge kind="ok">{t('app.admin.allWell')}</StateBadge>
  return (
    <StateBadge kind="wrong">{t('app.admin.partsFailing', { names: failing.map(getPartLabel).join(', ') })}</StateBadge>
  )
}

interface DecisionProps {
  section: SectionName
  search?: Record<string, string>
  children: string
}

/** An open decision, with a link to the section where it is made. */
const Decision = ({ section, search = {}, children }: DecisionProps) => (
  <li>
    <Link to="/admin/$section" params={{ section }} search={search as never}>
      {children}
    </Link>
  </li>
)

function Decisions() {
  const { data, error } = useRecords(
    ['decisions'],
    (signal) => api.overview.decisions.query(undefined, { signal }),
    MINUTE_MS,
  )
  const near = useFigures(['near'], (signal) => api.overview.limits.query({}, { signal }))
  const limits = near.data?.length ?? 0
  const { toolsToApprove: tools, offlineModels: models, leftTokens: tokens, deprecatedCallers: callers } = data ?? {}
  const all: (ReactNode | false)[] = [
    tools && tools.total > 0 && (
      <Decision key="tools" section="tools">
        {t('app.admin.decideTools', { count: tools.total })}
      </Decision>
    ),
    models && models.total > 0 && (
      <Decision key="models" section="models" search={{ state: 'offline' }}>
        {t('app.admin.decideModels', { count: models.total })}
      </Decision>
    ),
    limits > 0 && (
      <Decision key="limits" section="limits" search={{ near: 'yes' }}>
        {t('app.admin.decideLimits', { count: limits })}
      </Decision>
    ),
    tokens && tokens.total > 0 && (
      <Decision key="tokens" section="people" search={{ state: 'disabled' }}>
        {t('app.admin.decideTokens', { count: tokens.total })}
      </Decision>
    ),
    callers && callers.total > 0 && (
      <Decision key="callers" section="settings">
        {t('app.admin.decideCallers', { count: callers.total })}
      </Decision>
    ),
  ]
  const waiting = all.filter(Boolean)
  return (
    <Part title={t('app.admin.decisions')}>
      <ErrorMessage error={error ?? near.error} />
      {waiting.length > 0 && <ul>{waiting}</ul>}
      {data && near.data && waiting.length === 0 && <p className="hint">{t('app.admin.nothingWaits')}</p>}
    </Part>
  )
}

const DAYS = 30
const DAY_MS = 86_400_000
const getDayBefore = (days: number) => new Date(Date.now() - days * DAY_MS).toISOString().slice(0, 10)

type UsageSum = Awaited<ReturnType<typeof api.usage.list.query>>['rows'][number]
type Dimension = 'day' | 'model' | 'provider' | 'group'

/** Reads the usage of the last days by a dimension. */
const useSums = (by: Dimension) =>
  useFigures(['overview', by], (signal) =>
    api.usage.list.query({ by, from: getDayBefore(DAYS - 1), size: 100 }, { signal }),
  )

const formatCost = ({ costMicros, currency }: UsageSum) =>
  costMicros === null || !currency ? '–' : formatMoney(costMicros, currency)
const countTokens = ({ inputTokens, outputTokens }: UsageSum) => inputTokens + outputTokens

const buildSumHeads = (first: string) => [
  first,
  `#${t('app.admin.requests')}`,
  `#${t('app.admin.tokens')}`,
  `#${t('app.admin.cost')}`,
]
const buildSumCells = (name: string, sum: UsageSum) => [
  name,
  formatNumber(sum.requests),
  formatNumber(countTokens(sum)),
  formatCost(sum),
]

function DailyUsage() {
  const { data, error } = useSums('day')
  const sums = data?.rows ?? []
  const rows = sums.map((sum) => {
    return { key: `${sum.day} ${sum.currency}`, cells: buildSumCells(formatUtcDay(sum.day ?? ''), sum) }
  })
  const currencies = [...new Set(sums.flatMap(({ currency }) => currency ?? []))]
  return (
    <Part title={t('app.admin.lastDays')}>
      <ErrorMessage error={error} />
      {data && (
        <>
          <div className="charts">
            <DayChart
              sums={sums}
              figure={t('app.admin.requests')}
              measure={({ requests }) => requests}
              toText={formatNumber}
            />
            <DayChart sums={sums} figure={t('app.admin.tokens')} measure={countTokens} toText={formatNumber} />
            {currencies.map((currency) => (
              <DayChart
                key={currency}
                sums={sums.filter((sum) => sum.currency === currency)}
                figure={t('app.admin.cost')}
                measure={({ costMicros }) => costMicros ?? 0}
                toText={(value) => formatMoney(value, currency)}
              />
            ))}
          </div>
          <details>
            <summary>{t('app.admin.asTable')}</summary>
            <PlainTable label={t('app.admin.lastDays')} heads={buildSumHeads(t('app.admin.day'))} rows={rows} />
          </details>
        </>
      )}
    </Part>
  )
}

interface DayChartProps {
  sums: readonly UsageSum[]
  figure: string
  measure: (sum: UsageSum) => number
  toText: (value: number) => string
}

/** A chart of one figure by day, with its total. */
function DayChart({ sums, figure, measure, toText }: DayChartProps) {
  const byDay = Map.groupBy(sums, ({ day }) => day ?? '')
  const bars = Array.from({ length: DAYS }, (_, index) => {
    const day = getDayBefore(DAYS - 1 - index)
    const value = (byDay.get(day) ?? []).reduce((all, sum) => all + measure(sum), 0)
    return { name: formatUtcDay(day), value, text: toText(value) }
  })
  const total = toText(bars.reduce((all, { value }) => all + value, 0))
  return (
    <div>
      <h3>
        {figure} <span className="sum">{total}</span>
      </h3>
      <BarChart bars={bars} label={t('app.admin.chart', { name: figure, total })} />
    </div>
  )
}

const MAX_ROWS = 10
const headLabels = { model: 'app.admin.model', provider: 'app.admin.provider', group: 'app.admin.group' } as const

/** The most used models, providers or groups, as bars beside their figures. */
function UsageRanking({ by, title }: { by: keyof typeof headLabels; title: string }) {
  const { data, error } = useSums(by)
  const sums = (data?.rows ?? []).toSorted((a, b) => countTokens(b) - countTokens(a)).slice(0, MAX_ROWS)
  if (error && !data) return <ErrorMessage error={error} />
  if (sums.length === 0) return null
  const max = Math.max(1, ...sums.map(countTokens))
  const rows = sums.map((sum) => {
    const [name = '', ...figures] = buildSumCells(sum[by] ?? t('app.admin.none'), sum)
    return {
      key: `${name} ${sum.currency}`,
      cells: [<ShareBar key="name" name={name} share={countTokens(sum) / max} />, ...figures],
    }
  })
  return (
    <Part title={title}>
      <PlainTable label={title} heads={buildSumHeads(t(headLabels[by]))} rows={rows} />
    </Part>
  )
}

const ShareBar = ({ name, share }: { name: string; share: number }) => (
  <>
    {name}
    <svg className="share" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect width={share * 100} height="1" />
    </svg>
  </>
)

const SECOND_MS = 1000
const QUALITY_ROWS = 5

const formatSeconds = (time: number | null) =>
  time === null ? '–' : t('app.admin.seconds', { seconds: formatNumber(Math.round(time / 100) / (SECOND_MS / 100)) })

function ModelQuality({ order, title }: { order: 'slowest' | 'failing'; title: string }) {
  const { data = [], error } = useFigures(['quality', order], (signal) =>
    api.overview.models.query({ order }, { signal }),
  )
  if (error && data.length === 0) return <ErrorMessage error={error} />
  const models = data.filter(({ failed }) => order === 'slowest' || failed > 0).slice(0, QUALITY_ROWS)
  if (models.length === 0) return null
  return (
    <Part title={title}>
      <PlainTable
        label={title}
        heads={[
          t('app.admin.model'),
          `#${t('app.admin.requests')}`,
          `#${t('app.admin.failed')}`,
          `#${t('app.admin.median')}`,
          `#${t('app.admin.firstToken')}`,
        ]}
        rows={models.map(({ model, provider, calls, failed, medianMs, firstPieceMs }) => ({
          key: `${provider} ${model}`,
          cells: [
            model,
            formatNumber(calls),
            formatNumber(failed),
            formatSeconds(medianMs),
            formatSeconds(firstPieceMs),
          ],
        }))}
      />
    </Part>
  )
}
