interface Flight<Value> {
  readonly value: Promise<Value>
  readonly end: AbortController
  waiting: number
}

/** Runs work once for all concurrent callers of a key, and aborts it if none is left. */
export class SingleFlight<Value> {
  readonly #flights = new Map<string, Flight<Value>>()

  /** `signal` aborts when the caller leaves; the work gets a signal of its own. */
  async run(key: string, signal: AbortSignal, work: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    signal.throwIfAborted()
    const flight = this.#flights.get(key) ?? this.#begin(key, work)
    flight.waiting += 1
    const { promise: gone, reject } = Promise.withResolvers<never>()
    const leave = () => {
      reject(signal.reason)
      flight.waiting -= 1
      if (flight.waiting === 0) this.#abandon(key, flight)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await Promise.race([flight.value, gone])
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }

  #begin(key: string, work: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const end = new AbortController()
    const value = work(end.signal).finally(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key)
    })
    // Callers that wait receive the failure; this prevents an unhandled rejection if there are none.
    value.catch(() => {})
    const flight: Flight<Value> = { value, end, waiting: 0 }
    this.#flights.set(key, flight)
    return flight
  }

  #abandon(key: string, flight: Flight<Value>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key)
    flight.end.abort()
  }
}
