interface Flight<Value> {
  readonly value: Promise<Value>
  readonly end: AbortController
  waiting: number
}

/** Does a piece of work once for all who ask for it at the same time, and ends it where nobody waits for it any more. */
export class SingleFlight<Value> {
  readonly #flights = new Map<string, Flight<Value>>()

  /** `signal` says that the caller has gone; the work is given one of its own. */
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
    // Whoever waits is told of a failure; where nobody does, nobody needs to be.
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
