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

/** Sends traces, and the lines of the log, to the collector of the operator, beside the work that they tell of. */
export interface Telemetry {
  traces: Traces
  /** An output of lines that are sent as well. */
  copyLines(output: DestinationStream): DestinationStream
  /** Tells this log when the collector begins to fail, and when it takes a signal again. */
  reportTo(log: Log): void
  /** Sends what waits, unless the collector takes too long. */
  close(): Promise<void>
}

/** So much waits for a collector, and so much goes in one request; more is dropped. */
const queue = { maxQueueSize: 2048, maxExportBatchSize: 512, scheduledDelayMillis: 1000 }
const CLOSING_MS = 2000
/** Longer than any name that the service makes. */
const MAX_VALUE = 200
/** The same of a value in a line of the log. */
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
    ...{ resource, spanProcessors: [spans] },
    spanLimits: { attributeValueLengthLimit: MAX_VALUE, attributeCountLimit: 64, eventCountLimit: 32 },
  })
  const loggers = new LoggerProvider({
    ...{ resource, processors: [lines] },
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
  /** The part of all traces that is sent, from 0 to 1. */
  share: number
  hosts: ReadonlySet<string>
}

const createTraces = (tracer: Tracer, { share, hosts }: TracesOptions): Traces => ({
  begin(name, { requestId, traceparent, ...options } = {}) {
    // A sampler of the library decides when all of a span has been made, which costs each request.
    if (Math.random() >= share) return requestId === undefined ? undefined : new UncollectedSpan(requestId)
    const span = tracer.startSpan(name, { ...toOtel(options), links: readLinks(traceparent) }, ROOT_CONTEXT)
    return new RecordedSpan(span, { tracer, hosts, requestId, isOver: false, parts: 0 })
  },
})

/** A trace from outside is no more than named: whoever sends it decides neither what is collected nor what belongs together. */
function readLinks(traceparent: string | undefined): Link[] {
  const context = traceparent === undefined ? null : parseTraceParent(traceparent)
  return context ? [{ context: { ...context, isRemote: true } }] : []
}

const kinds = { client: SpanKind.CLIENT, server: SpanKind.SERVER } as const

const toOtel = ({ kind, attributes }: SpanOptions) => ({
  ...(kind && { kind: kinds[kind] }),
  ...(attributes && { attributes }),
})

/** The spans of one trace share it. */
interface Trace {
  readonly tracer: Tracer
  /** They are sent `traceparent`. */
  readonly hosts: ReadonlySet<string>
  readonly requestId: string | undefined
  /** True once its first span has ended. */
  isOver: boolean
  parts: number
}

/** A stream of changes may be open for days. */
const MAX_PARTS = 1000

class RecordedSpan implements Span {
  readonly ids: SpanIds
  readonly #span: OtelSpan
  readonly #trace: Trace
  readonly #isRoot: boolean
  #context: Context | undefined

  constructor(span: OtelSpan, of: Trace, isRoot = true) {
    const { traceId, spanId } = span.spanContext()
    this.ids = { traceId, spanId, ...(of.requestId !== undefined && { requestId: of.requestId }) }
    this.#span = span
    this.#trace = of
    this.#isRoot = isRoot
  }

  get isOver(): boolean {
    return this.#trace.isOver
  }

  begin(name: string, options: SpanOptions = {}): Span | undefined {
    const of = this.#trace
    if (of.isOver || of.parts >= MAX_PARTS) return undefined
    of.parts++
    this.#context ??= trace.setSpan(ROOT_CONTEXT, this.#span)
    return new RecordedSpan(of.tracer.startSpan(name, toOtel(options), this.#context), of, false)
  }

  beginLinked(name: string): Span {
    const { tracer } = this.#trace
    const span = tracer.startSpan(name, { links: [{ context: this.#span.spanContext() }] }, ROOT_CONTEXT)
    return new RecordedSpan(span, { ...this.#trace, isOver: false, parts: 0 })
  }

  set(attributes: SpanAttributes): void {
    this.#span.setAttributes(attributes)
  }

  addEvent(name: string): void {
    this.#span.addEvent(name)
  }

  fail(error: unknown): void {
    this.#span.setAttribute('error.type', nameError(error))
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

/** Names the request in lines of the log, and is sent nowhere. */
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

/** Our code of an error, that of the system or the database, or its kind. */
function nameError(error: unknown): string {
  const { problem, code, name } = (error ?? {}) as Record<string, unknown>
  const isWord = (word: unknown, shape: RegExp): word is string => typeof word === 'string' && shape.test(word)
  if (isWord(problem, /^[a-z_]{1,60}$/)) return problem
  if (isWord(code, /^[A-Z0-9_]{1,60}$/)) return code
  return isWord(name, /^[A-Za-z_]{1,60}$/) ? name : '_OTHER'
}

/** The levels of the log, by their numbers. */
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
    ...{ timestamp: time, attributes: attributes as NonNullable<LogRecord['attributes']> },
    ...(msg !== undefined && { body: msg }),
    ...(severity !== undefined && { severityNumber: severity, severityText: SeverityNumber[severity] }),
    ...context,
  })
}

const toContext = (traceId: string, spanId: string): Context =>
  trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.SAMPLED })
