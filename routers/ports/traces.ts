import { AsyncLocalStorage } from 'node:async_hooks'

/** Numbers, words of fixed lists and names that administrators gave: never a word that a person wrote. */
export type SpanAttributes = Record<string, string | number | boolean | undefined>

export interface SpanOptions {
  /** A client waits for another program, a server is asked by one; absent within this program. */
  kind?: 'client' | 'server'
  attributes?: SpanAttributes
}

/** The names of a span in lines of the log. */
export interface SpanIds {
  /** Absent where the trace is not collected. */
  traceId?: string
  spanId?: string
  requestId?: string
}

/** A piece of work in a trace. */
export interface Span {
  readonly ids: SpanIds
  /** True once the trace is over: a timer or a stream that goes on in its name is no part of it. */
  readonly isOver: boolean
  /** Begins a part of it; nothing where the trace is over, not collected, or has too many parts. */
  begin(name: string, options?: SpanOptions): Span | undefined
  /** Begins a trace of its own for work that outlives this one, which it is linked to. */
  beginLinked(name: string): Span | undefined
  set(attributes: SpanAttributes): void
  addEvent(name: string): void
  /** Says that the work failed, by the code of the error or its kind: a message may quote what somebody wrote. */
  fail(error: unknown): void
  end(): void
  /** The header `traceparent` for a server that the operator lets know of traces. */
  findTraceparent(url: URL): string | undefined
}

/** The beginning of a trace. */
export interface TraceOptions extends SpanOptions {
  requestId?: string
  /** The header `traceparent` of whoever asks, whose trace is linked and not continued. */
  traceparent?: string | undefined
}

/** Begins traces, where an operator collects them. */
export interface Traces {
  /** Of what is not collected, only a request has a span, by whose id lines of the log are told apart. */
  begin(name: string, options?: TraceOptions): Span | undefined
}

/**
 * The span of the work under way, which no signature has to carry: statements and connections belong to the process, and know
 * nothing of who needs them. Without traces nothing is ever stored here.
 */
const current = new AsyncLocalStorage<Span>()

export function findCurrentSpan(): Span | undefined {
  const span = current.getStore()
  return span?.isOver ? undefined : span
}

/** Does it as a part of the span. */
export const runWithin = <T>(span: Span | undefined, work: () => T): T => (span ? current.run(span, work) : work())

/** Does it as a part of the span under way; where there is none, it is only done. */
export const traceWork = <T>(name: string, options: SpanOptions, work: (span?: Span) => Promise<T>): Promise<T> =>
  recordWork(findCurrentSpan()?.begin(name, options), work)

/** A statement of the database by its name, without its values. */
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

/** Does it as the work of the span, which ends with it. */
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

/** Reads each step as a part of the span, whoever asks for it. */
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
