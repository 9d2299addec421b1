import { statfs } from 'node:fs/promises'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { findReservationAge, sumReserved } from '../../entities/ai/usage-reservation.sql.ts'
import { findBackupAge } from '../../entities/events/audit-entry.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { GaugeName, Gauges, MeasuredCall, Metrics, MetricsSample } from '../../routers/ports/metrics.ts'
import type { DatabaseJobQueue } from '../stores/job-queue.ts'

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

const MAX_MODELS = 200
const MAX_VALUES = 50
/** Label for all values beyond these limits. */
const OTHER = 'other'

/** Passes on the first values of a label and replaces later ones, so that the number of time series is bounded. */
class LabelLimiter {
  readonly #values = new Set<string>()
  readonly #max: number

  constructor(max = MAX_VALUES) {
    this.#max = max
  }

  limit(value: string): string {
    if (this.#values.has(value)) return value
    if (this.#values.size >= this.#max) return OTHER
    this.#values.add(value)
    return value
  }
}

const durationBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

const gauges: Record<GaugeName, string> = {
  svc_sockets: 'WebSocket connections that are open',
  svc_streams: 'Streams of changes that are followed by server-sent events',
  svc_change_lag_seconds: 'How long the slowest change of the last seconds took to this replica',
  svc_db_pool_connections: 'Connections of the pool for requests',
  svc_db_pool_waiting: 'Requests that wait for a connection of the pool',
  svc_audit_anchor_age_seconds: 'Time since this replica wrote an anchor of the audit log',
}

const MILLION = 1_000_000

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { counter, histogram, gauge } = createMakers(registry)
  const requests = counter('svc_http_requests_total', 'Requests that were answered', ['surface', 'status'])
  const requestTime = histogram('svc_http_request_seconds', 'Time until a request was answered', ['surface'])
  const refusals = counter('svc_limit_refusals_total', 'Calls for which a limit had no room', ['limit'])
  const fallbacks = counter('svc_fallbacks_total', 'Calls that another model answered in place of this one', ['model'])
  const retries = counter('svc_retries_total', 'Requests to a provider that were made again', ['provider'])
  const open = gauge('svc_provider_open', '1 while the calls of a provider fail at once', ['provider'])
  const bounds = { models: new LabelLimiter(MAX_MODELS), providers: new LabelLimiter() }
  const limits = new LabelLimiter()
  const readers: (() => Gauges)[] = []
  watchGauges(registry, readers)
  let anchoredAt: number | undefined
  readers.push(() => (anchoredAt ? { svc_audit_anchor_age_seconds: (Date.now() - anchoredAt) / 1000 } : {}))

  return {
    countRequest({ surface, status, seconds }) {
      requests.inc({ surface, status: `${Math.floor(status / 100)}xx` })
      requestTime.observe({ surface }, seconds)
    },
    countCall: createCallCounter(registry, bounds),
    countRefusal: (limit) => refusals.inc({ limit: limits.limit(limit) }),
    countFallback: (model) => fallbacks.inc({ model: bounds.models.limit(model) }),
    countRetry: (provider) => retries.inc({ provider: bounds.providers.limit(provider) }),
    recordAnchor: () => {
      anchoredAt = Date.now()
    },
    setSample: createSampleSetter(registry, limits),
    setProviderState: (provider, isOpen) => open.set({ provider: bounds.providers.limit(provider) }, Number(isOpen)),
    watch: (read) => void readers.push(read),
    render: () => registry.metrics(),
  }
}

function createMakers(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: string, help: string, labelNames: string[]) => new Counter({ name, help, labelNames, registers }),
    gauge: (name: string, help: string, labelNames: string[]) => new Gauge({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, labelNames: string[]) =>
      new Histogram({ name, help, labelNames, registers, buckets: durationBuckets }),
  }
}

/** Creates the gauges of samples; each sample replaces all their values. */
function createSampleSetter(registry: Registry, limits: LabelLimiter): Metrics['setSample'] {
  const { gauge } = createMakers(registry)
  const jobs = gauge('svc_jobs', 'Jobs of all replicas', ['queue', 'state'])
  const reserved = gauge('svc_limit_reserved', 'What calls under way reserve of a limit', ['limit', 'unit'])
  const diskFree = gauge('svc_disk_free_bytes', 'Bytes that are free in the data folder', [])
  const reservationAge = gauge('svc_reservation_age_seconds', 'Time since the oldest call under way reserved', [])
  const backupAge = gauge('svc_backup_age_seconds', 'Time since the last backup', [])
  const clear = () => {
    jobs.reset()
    reserved.reset()
    // `reset` sets a gauge without labels to 0, so it is removed instead.
    for (const each of [diskFree, reservationAge, backupAge]) each.remove()
  }
  clear()
  return (sample) => {
    clear()
    if (!sample) return
    for (const { queue, state, count } of sample.jobs) jobs.set({ queue, state }, count)
    for (const { limit, unit, amount } of sample.reserved) reserved.inc({ limit: limits.limit(limit), unit }, amount)
    diskFree.set(sample.diskFree)
    reservationAge.set(sample.reservationAge)
    if (sample.backupAge !== undefined) backupAge.set(sample.backupAge)
  }
}

/** Creates the metrics of model calls; returns a function that counts a call. */
function createCallCounter(registry: Registry, { models, providers }: Record<'models' | 'providers', LabelLimiter>) {
  const { counter, histogram } = createMakers(registry)
  const total = counter('svc_ai_calls_total', 'Calls of models', ['model', 'provider', 'outcome'])
  const time = histogram('svc_ai_call_seconds', 'Time that a call of a model took', ['model'])
  const first = histogram('svc_ai_first_token_seconds', 'Time until the first piece of an answer', ['model'])
  const perToken = histogram('svc_ai_output_token_seconds', 'Time for each token after the first piece', ['model'])
  const tokens = counter('svc_ai_tokens_total', 'Tokens of calls', ['model', 'type'])
  const cost = counter('svc_ai_cost_total', 'Cost of calls', ['model', 'currency', 'estimated'])
  const currencies = new LabelLimiter()

  const timeAnswer = (model: string, { firstPieceMs, durationMs, outputTokens }: MeasuredCall) => {
    if (firstPieceMs === undefined) return
    first.observe({ model }, firstPieceMs / 1000)
    if (outputTokens > 1) perToken.observe({ model }, (durationMs - firstPieceMs) / 1000 / (outputTokens - 1))
  }
  const addCost = (model: string, { costMicros, currency, estimated }: MeasuredCall) => {
    if (costMicros === null || currency === null) return
    cost.inc({ model, currency: currencies.limit(currency), estimated: estimated ? 'yes' : 'no' }, costMicros / MILLION)
  }
  return (call: MeasuredCall) => {
    const model = models.limit(call.model)
    total.inc({ model, provider: providers.limit(call.provider), outcome: call.outcome })
    time.observe({ model }, call.durationMs / 1000)
    timeAnswer(model, call)
    for (const [type, count] of listTokenCounts(call)) if (count > 0) tokens.inc({ model, type }, count)
    addCost(model, call)
  }
}

const listTokenCounts = (call: MeasuredCall) =>
  [
    ['input', call.inputTokens],
    ['output', call.outputTokens],
    ['cache_read', call.cachedTokens],
    ['cache_write', call.cacheWriteTokens],
    ['reasoning', call.reasoningTokens],
  ] as const

/** Creates gauges whose values are read at each scrape. */
function watchGauges(registry: Registry, readers: readonly (() => Gauges)[]): void {
  for (const [name, help] of Object.entries(gauges)) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      registers: [registry],
      collect: () => {
        for (const read of readers) {
          const value = read()[name as GaugeName]
          if (value !== undefined) gauge.set(value)
        }
      },
    })
  }
}

export interface SampleOptions {
  metrics: Metrics
  jobQueue: Pick<DatabaseJobQueue, 'count'>
  sql: Sql
  /** Path of the data folder. */
  folder: string
}

/** Samples metrics that are too slow to read at each scrape. A failed sample removes the old values, because they would be wrong. */
export async function sampleMetrics({ metrics, ...parts }: SampleOptions): Promise<void> {
  try {
    metrics.setSample(await readSample(parts))
  } catch (error) {
    metrics.setSample(undefined)
    throw error
  }
}

async function readSample({ jobQueue, sql, folder }: Omit<SampleOptions, 'metrics'>): Promise<MetricsSample> {
  const [jobs, reserved, [oldest], [backup], disk] = await Promise.all([
    jobQueue.count(),
    sql(sumReserved),
    sql(findReservationAge),
    sql(findBackupAge),
    statfs(folder),
  ])
  return {
    jobs,
    reserved: reserved.map(({ limit, unit, currency, amount }) =>
      unit === 'money' ? { limit, unit: currency ?? unit, amount: amount / MILLION } : { limit, unit, amount },
    ),
    diskFree: disk.bavail * disk.bsize,
    reservationAge: oldest?.seconds ?? 0,
    backupAge: backup?.seconds,
  }
}
