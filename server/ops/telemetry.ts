import { randomUUID } from 'node:crypto'
import {
  type Context,
  type Link,
  type Logger,
  type LogRecord,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  SeverityNumber,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { parseTraceParent } from '@opentelemetry/core'
import { JsonLogsSerializer, JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { DestinationStream } from 'pino'
import manifest from '../../package.json' with { type: 'json' }
import { withTimeout } from '../../routers/core/timeout.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Span, SpanAttributes, SpanIds, SpanOptions, Traces } from '../../routers/ports/traces.ts'
import type { Env } from '../config/settings.ts'
import { Collector } from './collector.ts'

/** Sends traces and log lines to the operator's collector, in the background. */
export interface Telemetry {
  traces: Traces
  /** Wraps an output so that its lines are also sent to the collector. */
  copyLines(output: DestinationStream): DestinationStream
  /** Sets the log for warnings when the collector starts to refuse a signal, and when it accepts it again. */
  reportTo(log: Log): void
  /** Sends the waiting items, unless the collector takes too long. */
  close(): Promise<void>
}

/** Sizes of the queues and requests for the collector; items beyond the queue size are dropped. */
const queue = { maxQueueSize: 2048, maxExportBatchSize: 512, scheduledDelayMillis: 1000 }
const CLOSING_MS = 2000
/** Largest length of an attribute of a span; no name of the service is longer. */
const MAX_VALUE = 200
/** Largest length of an attribute of a log line. */
const MAX_TEXT = 1000

export function createTelemetry(env: Env): Telemetry {
  const collector = new Collector({
    endpoint: env.OTEL_EXPORTER_OTLP_ENDPOINT ?? '',
    headers: env.OTEL_EXPORTER_OTLP_HEADERS,
  })
  const resource = resourceFromAttributes({
    'service.name': env.OTEL_SERVICE_NAME,
    'service.version': manifest.version,
    'service.instance.id': randomUUID(),
  })
  const spans = new BatchSpanProcessor({
    ...queue,
    exporter: collector.createSender('traces', JsonTraceSerializer),
  })
  const lines = new BatchLogRecordProcessor({
    ...queue,
    exporter: collector.createSender('logs', JsonLogsSerializer),
  })
  const tracers = new TracerProvider({
    resource,
    spanProcessors: [spans],
    spanLimits: { attributeValueLengthLimit: MAX_VALUE, attributeCountLimit: 64, eventCountLimit: 32 },
  })
  const loggers = new LoggerProvider({
    resource,
    processors: [lines],
    logRecordLimits: { attributeValueLengthLimit: MAX_TEXT, attributeCountLimit: 64 },
  })
  const logger = loggers.getLogger('svc')
  return {
    traces: createTraces(tracers.getTracer('svc', manifest.version), {
      share: env.OTEL_TRACES_SAMPLER_ARG,
      hosts: new Set(env.TRACEPARENT_HOSTS),
    }),
    copyLines: (output) => ({
      write(line) {
        output.write(line)
        emitLine(logger, line)
      },
    }),
    reportTo: (log) => collector.reportTo(log),
    async close() {
      const sent = Promise.all([spans.forceFlush(), lines.forceFlush()])
      await withTimeout(sent, CLOSING_MS).catch(() => {})
      await collector.close()
    },
  }
}

interface TracesOptions {
  /** Share of all traces that is sent, from 0 to 1. */
  share: number
  hosts: ReadonlySet<string>
}

const createTraces = (tracer: Tracer, { share, hosts }: TracesOptions): Traces => ({
  begin(name, { requestId, traceparent, ...options } = {}) {
    // Sampling is decided here, because a sampler of the SDK decides only after it has created most of the span.
    if (Math.random() >= share) return requestId === undefined ? undefined : new UncollectedSpan(requestId)
    const span = tracer.startSpan(name, { ...toOtelOptions(options), links: readLinks(traceparent) }, ROOT_CONTEXT)
    return new RecordedSpan(span, { tracer, hosts, requestId, isOver: false, spanCount: 0 })
  },
})

/** Links a `traceparent` from outside. It is not the parent, because the sender must not decide about sampling and grouping. */
function readLinks(traceparent: string | undefined): Link[] {
  const context = traceparent === undefined ? null : parseTraceParent(traceparent)
  return context ? [{ context: { ...context, isRemote: true } }] : []
}

const spanKinds = { client: SpanKind.CLIENT, server: SpanKind.SERVER } as const

const toOtelOptions = ({ kind, attributes }: SpanOptions) => ({
  ...(kind && { kind: spanKinds[kind] }),
  ...(attributes && { attributes }),
})

/** State that all spans of a trace share. */
interface TraceState {
  readonly tracer: Tracer
  /** Hosts to which `traceparent` is sent. */
  readonly hosts: ReadonlySet<string>
  readonly requestId: string | undefined
  /** True once its first span has ended. */
  isOver: boolean
  spanCount: number
}

/** Largest number of spans in a trace; a stream of changes may be open for days. */
const MAX_SPANS = 1000

class RecordedSpan implements Span {
  readonly ids: SpanIds
  readonly #span: OtelSpan
  readonly #trace: TraceState
  readonly #isRoot: boolean
  #context: Context | undefined

  constructor(span: OtelSpan, state: TraceState, isRoot = true) {
    const { traceId, spanId } = span.spanContext()
    this.ids = { traceId, spanId, ...(state.requestId !== undefined && { requestId: state.requestId }) }
    this.#span = span
    this.#trace = state
    this.#isRoot = isRoot
  }

  get isOver(): boolean {
    return this.#trace.isOver
  }

  begin(name: string, options: SpanOptions = {}): Span | undefined {
    const state = this.#trace
    if (state.isOver || state.spanCount >= MAX_SPANS) return undefined
    state.spanCount++
    this.#context ??= trace.setSpan(ROOT_CONTEXT, this.#span)
    return new RecordedSpan(state.tracer.startSpan(name, toOtelOptions(options), this.#context), state, false)
  }

  beginLinked(name: string): Span {
    const { tracer } = this.#trace
    const span = tracer.startSpan(name, { links: [{ context: this.#span.spanContext() }] }, ROOT_CONTEXT)
    return new RecordedSpan(span, { ...this.#trace, isOver: false, spanCount: 0 })
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  addEvent(name: string): void {
    this.#span.addEvent(name)
  }

  fail(error: unknown): void {
    this.#span.setAttribute('error.type', classifyError(error))
    this.#span.setStatus({ code: SpanStatusCode.ERROR })
  }

  end(): void {
    this.#span.end()
    if (this.#isRoot) this.#trace.isOver = true
  }

  findTraceparent({ host }: URL): string | undefined {
    if (!this.#trace.hosts.has(host)) return undefined
    const { traceId, spanId } = this.ids
    return `00-${traceId}-${spanId}-01`
  }
}

/** A span that is not sampled; it only gives log lines the id of the request. */
class UncollectedSpan implements Span {
  readonly ids: SpanIds
  isOver = false

  constructor(requestId: string) {
    this.ids = { requestId }
  }

  begin(): undefined {}
  beginLinked(): undefined {}
  set(): void {}
  addEvent(): void {}
  fail(): void {}
  findTraceparent(): undefined {}

  end(): void {
    this.isOver = true
  }
}

/** Classifies an error: by the code of a problem, by that of the system or database, or by its class. */
function classifyError(error: unknown): string {
  const { problem, code, name } = (error ?? {}) as Record<string, unknown>
  const matches = (value: unknown, pattern: RegExp): value is string => typeof value === 'string' && pattern.test(value)
  if (matches(problem, /^[a-z_]{1,60}$/)) return problem
  if (matches(code, /^[A-Z0-9_]{1,60}$/)) return code
  return matches(name, /^[A-Za-z_]{1,60}$/) ? name : '_OTHER'
}

/** Severities by the numbers of pino's levels. */
const severities = new Map([
  [10, SeverityNumber.TRACE],
  [20, SeverityNumber.DEBUG],
  [30, SeverityNumber.INFO],
  [40, SeverityNumber.WARN],
  [50, SeverityNumber.ERROR],
  [60, SeverityNumber.FATAL],
])

interface Line extends Partial<SpanIds> {
  level: number
  time: number
  msg?: string
}

function emitLine(logger: Logger, text: string): void {
  const { level, time, msg, traceId, spanId, ...attributes } = JSON.parse(text) as Line
  const context = traceId && spanId ? { context: toContext(traceId, spanId) } : {}
  const severity = severities.get(level)
  logger.emit({
    timestamp: time,
    attributes: attributes as NonNullable<LogRecord['attributes']>,
    ...(msg !== undefined && { body: msg }),
    ...(severity !== undefined && { severityNumber: severity, severityText: SeverityNumber[severity] }),
    ...context,
  })
}

const toContext = (traceId: string, spanId: string): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED })
