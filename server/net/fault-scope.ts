import { AsyncLocalStorage } from 'node:async_hooks'

/** A piece of the work of this process, by which an error that nothing caught is named and contained. */
export interface FaultScope {
  kind: 'outbound call' | 'socket' | 'request' | 'periodic task' | 'job'
  /** Names and ids for the log, never texts of people. */
  names: Readonly<Record<string, string | number | undefined>>
  /** Ends this work alone. Without it, an error that nothing caught ends the process. */
  end?: (error: unknown) => void
}

const current = new AsyncLocalStorage<FaultScope | undefined>()
const scopes = new WeakMap<WeakKey, FaultScope>()

/** Runs work, and all that it starts, in a scope. */
export function runInScope<T>(scope: FaultScope, work: () => T): T {
  return current.run(scope, () => {
    try {
      return work()
    } catch (error) {
      // The scope is left before a listener's error reaches the process. The innermost scope counts.
      if (typeof error === 'object' && error !== null && !scopes.has(error)) scopes.set(error, scope)
      throw error
    }
  })
}

/** Runs an outbound call with a signal that also aborts when an error of the call reaches the process. */
export function runOutboundCall<T>(
  names: FaultScope['names'],
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal, scope: FaultScope) => T,
): T {
  const fault = new AbortController()
  const scope: FaultScope = { kind: 'outbound call', names, end: (error) => fault.abort(error) }
  return runInScope(scope, () => work(signal ? AbortSignal.any([signal, fault.signal]) : fault.signal, scope))
}

/** Iterates in a scope, and returns the steps. */
export function iterateInScope<T>(scope: FaultScope, steps: AsyncIterable<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = runInScope(scope, () => steps[Symbol.asyncIterator]())
      return {
        next: () => runInScope(scope, () => iterator.next()),
        return: async () =>
          (await runInScope(scope, () => iterator.return?.())) ?? { done: true as const, value: undefined },
      }
    },
  }
}

/** Takes the scope of an error that nothing caught, from within the handler of the process. */
export function takeScope(error: unknown): FaultScope | undefined {
  const scope = (typeof error === 'object' && error !== null && scopes.get(error)) || current.getStore()
  // Node leaves the context of the failed work as that of unrelated later work.
  current.enterWith(undefined)
  return scope
}
