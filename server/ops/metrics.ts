import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { GaugeName, Gauges, MeasuredCall, Metrics } from '../../routers/ports/metrics.ts'

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE

const MAX_MODELS = 200
const MAX_VALUES = 50
/** Stands for all values beyond those. */
const OTHER = 'other'

/** Lets the first values of a label through, so that nobody makes series without end. */
class LabelBound {
  readonly #known = new Set<string>()
  readonly #most: number

  constructor(most = MAX_VALUES) {
    this.#most = most
  }

  take(value: string): string {
    if (this.#known.has(value)) return value
    if (this.#known.size >= this.#most) return OTHER
    this.#known.add(value)
    return value
  }
}

const seconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

const gauges: Record<GaugeName, string> = {
  svc_sockets: 'WebSocket connections that are open',
  svc_streams: 'Streams of changes that are followed by server-sent events',
  svc_change_lag_seconds: 'How long the slowest change of the last seconds took to this replica',
  svc_db_pool_connections: 'Connections of the pool for requests',
  svc_db_pool_waiting: 'Requests that wait for a connection of the pool',
}

const MILLION = 1_000_000

export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const { counter, histogram, gauge } = makersIn(registry)
  const requests = counter('svc_http_requests_total', 'Requests that were answered', ['surface', 'status'])
  const requestTime = histogram('svc_http_request_seconds', 'Time until a request was answered', ['surface'])
  const refusals = counter('svc_limit_refusals_total', 'Calls for which a limit had no room', ['limit'])
  const fallbacks = counter('svc_fallbacks_total', 'Calls that another model answered in place of this one', ['model'])
  const retries = counter('svc_retries_total', 'Requests to a provider that were made again', ['provider'])
  const open = gauge('svc_provider_open', '1 while the calls of a provider fail at once', ['provider'])
  const bounds = { models: new LabelBound(MAX_MODELS), providers: new LabelBound() }
  const limits = new LabelBound()
  const readers: (() => Gauges)[] = []
  watchGauges(registry, readers)

  return {
    countRequest({ surface, status, seconds }) {
      requests.inc({ surface, status: `${Math.floor(status / 100)}xx` })
      requestTime.observe({ surface }, seconds)
    },
    countCall: callCounter(registry, bounds),
    countRefusal: (limit) => refusals.inc({ limit: limits.take(limit) }),
    countFallback: (model) => fallbacks.inc({ model: bounds.models.take(model) }),
    countRetry: (provider) => retries.inc({ provider: bounds.providers.take(provider) }),
    setSample: sampleGauges(registry, limits),
    setProviderState: (provider, isOpen) => open.set({ provider: bounds.providers.take(provider) }, Number(isOpen)),
    watch: (read) => void readers.push(read),
    render: () => registry.metrics(),
  }
}

function makersIn(registry: Registry) {
  const registers = [registry]
  return {
    counter: (name: string, help: string, labelNames: string[]) => new Counter({ name, help, labelNames, registers }),
    gauge: (name: string, help: string, labelNames: string[]) => new Gauge({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, labelNames: string[]) =>
      new Histogram({ name, help, labelNames, registers, buckets: seconds }),
  }
}

/** Gauges that a sample replaces as a whole: what is in it no more has no number. */
function sampleGauges(registry: Registry, limits: LabelBound): Metrics['setSample'] {
  const { gauge } = makersIn(registry)
  const jobs = gauge('svc_jobs', 'Jobs of all replicas', ['queue', 'state'])
  const reserved = gauge('svc_limit_reserved', 'What calls under way reserve of a limit', ['limit', 'unit'])
  const diskFree = gauge('svc_disk_free_bytes', 'Bytes that are free in the data folder', [])
  const clear = () => {
    jobs.reset()
    reserved.reset()
    // To reset what has no labels makes it 0.
    diskFree.remove()
  }
  clear()
  return (sample) => {
    clear()
    if (!sample) return
    for (const { queue, state, count } of sample.jobs) jobs.set({ queue, state }, count)
    for (const { limit, unit, amount } of sample.reserved) reserved.inc({ limit: limits.take(limit), unit }, amount)
    diskFree.set(sample.diskFree)
  }
}

/** Counts calls of models. */
function callCounter(registry: Registry, { models, providers }: Record<'models' | 'providers', LabelBound>) {
  const { counter, histogram } = makersIn(registry)
  const total = counter('svc_ai_calls_total', 'Calls of models', ['model', 'provider', 'outcome'])
  const time = histogram('svc_ai_call_seconds', 'Time that a call of a model took', ['model'])
  const first = histogram('svc_ai_first_token_seconds', 'Time until the first piece of an answer', ['model'])
  const perToken = histogram('svc_ai_output_token_seconds', 'Time for each token after the first piece', ['model'])
  const tokens = counter('svc_ai_tokens_total', 'Tokens of calls', ['model', 'type'])
  const cost = counter('svc_ai_cost_total', 'Cost of calls', ['model', 'currency', 'estimated'])
  const currencies = new LabelBound()

  const timeAnswer = (model: string, { firstPieceMs, durationMs, outputTokens }: MeasuredCall) => {
    if (firstPieceMs === undefined) return
    first.observe({ model }, firstPieceMs / 1000)
    if (outputTokens > 1) perToken.observe({ model }, (durationMs - firstPieceMs) / 1000 / (outputTokens - 1))
  }
  const addCost = (model: string, { costMicros, currency, estimated }: MeasuredCall) => {
    if (costMicros === null || currency === null) return
    cost.inc({ model, currency: currencies.take(currency), estimated: estimated ? 'yes' : 'no' }, costMicros / MILLION)
  }
  return (call: MeasuredCall) => {
    const model = models.take(call.model)
    total.inc({ model, provider: providers.take(call.provider), outcome: call.outcome })
    time.observe({ model }, call.durationMs / 1000)
    timeAnswer(model, call)
    for (const [type, count] of tokensOf(call)) if (count > 0) tokens.inc({ model, type }, count)
    addCost(model, call)
  }
}

const tokensOf = (call: MeasuredCall) =>
  [
    ['input', call.inputTokens],
    ['output', call.outputTokens],
    ['cache_read', call.cachedTokens],
    ['cache_write', call.cacheWriteTokens],
    ['reasoning', call.reasoningTokens],
  ] as const

/** Gauges that are read when somebody asks. */
function watchGauges(registry: Registry, readers: readonly (() => Gauges)[]): void {
  for (const [name, help] of Object.entries(gauges)) {
    const gauge: Gauge = new Gauge({
      ...{ name, help, registers: [registry] },
      collect: () => {
        for (const read of readers) {
          const value = read()[name as GaugeName]
          if (value !== undefined) gauge.set(value)
        }
      },
    })
  }
}
