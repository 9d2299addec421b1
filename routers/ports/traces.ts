import { AsyncLocalStorage } from 'node:async_hooks'

/** Attributes are numbers, fixed words and names given by administrators, never texts of people. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>

export interface SpanOptions {
  /** `client` calls another program, `server` is called by one; absent for internal spans. */
  kind?: 'client' | 'server'
  attributes?: SpanAttributes
}

/** Ids of a span in log lines. */
export interface SpanIds {
  /** Absent if the trace is not collected. */
  traceId?: string
  spanId?: string
  requestId?: string
}

/** A span of a trace. */
export interface Span {
  readonly ids: SpanIds
  /** True after the trace has ended: timers and streams that outlive it add nothing. */
  readonly isOver: boolean
  /** Starts a child span; undefined if the trace has ended, is not collected, or has too many spans. */
  begin(name: string, options?: SpanOptions): Span | undefined
  /** Starts a trace for work that outlives this one, linked to it. */
  beginLinked(name: string): Span | undefined
  set(attributes: SpanAttributes): void
  addEvent(name: string): void
  /** Marks the span as failed with the error's code or class; messages may contain texts of people. */
  fail(error: unknown): void
  end(): void
  /** Returns the `traceparent` header for servers that the operator allows to receive it. */
  findTraceparent(url: URL): string | undefined
}

/** Options of a new trace. */
export interface TraceOptions extends SpanOptions {
  requestId?: string
  /** The caller's `traceparent` header, which is linked and not continued. */
  traceparent?: string | undefined
}

/** Starts traces, if an operator collects them. */
export interface Traces {
  /** Starts a trace; without a collector only requests have a span, whose id identifies log lines. */
  begin(name: string, options?: TraceOptions): Span | undefined
}

/** The current span, so that no signature has to pass it. It stays empty without traces. */
const current = new AsyncLocalStorage<Span>()

export function findCurrentSpan(): Span | undefined {
  const span = current.getStore()
  return span?.isOver ? undefined : span
}

/** Runs work with the span as the current one. */
export const runWithin = <T>(span: Span | undefined, work: () => T): T => (span ? current.run(span, work) : work())

/** Runs work in a child span of the current span, if there is one. */
export const traceWork = <T>(name: string, options: SpanOptions, work: (span?: Span) => Promise<T>): Promise<T> =>
  recordWork(findCurrentSpan()?.begin(name, options), work)

/** Traces a statement by its name, without its values. */
export const traceStatement = <T>(name: string, run: () => Promise<T>): Promise<T> => {
  const span = findCurrentSpan()
  if (!span) return run()
  const summary = name || 'statement without a name'
  return recordWork(
    span.begin(summary, { kind: 'client', attributes: { ...postgres, 'db.query.summary': summary } }),
    run,
  )
}

const postgres = { 'db.system.name': 'postgresql' }

/** Runs work in the span, and ends the span with it. */
export async function recordWork<T>(span: Span | undefined, work: (span?: Span) => Promise<T>): Promise<T> {
  if (!span) return work()
  try {
    return await current.run(span, () => work(span))
  } catch (error) {
    span.fail(error)
    throw error
  } finally {
    span.end()
  }
}

/** Iterates with the span as the current one. */
export function iterateWithin<T>(span: Span | undefined, steps: AsyncIterable<T>): AsyncIterable<T> {
  if (!span) return steps
  return {
    [Symbol.asyncIterator]() {
      const iterator = runWithin(span, () => steps[Symbol.asyncIterator]())
      return {
        next: () => runWithin(span, () => iterator.next()),
        return: async () => (await runWithin(span, () => iterator.return?.())) ?? { done: true, value: undefined },
      }
    },
  }
}
