interface Run {
  isAskedAgain: boolean
  over: Promise<void>
}

/** Runs work of one name one after the other. What is asked for meanwhile is done by one more run: only the newest state counts. */
export class OneAtATime {
  readonly #running = new Map<string, Run>()

  /** Resolves once a run is over that began after this call. The work of one name is always the same, and throws nothing. */
  run(name: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(name)
    if (running) running.isAskedAgain = true
    return running?.over ?? this.#start(name, work)
  }

  #start(name: string, work: () => Promise<void>): Promise<void> {
    const run = { isAskedAgain: true, over: Promise.resolve() }
    this.#running.set(name, run)
    run.over = this.#runAll(name, run, work)
    return run.over
  }

  async #runAll(name: string, run: Run, work: () => Promise<void>): Promise<void> {
    try {
      while (run.isAskedAgain) {
        run.isAskedAgain = false
        await work()
      }
    } finally {
      // In the same turn: who asks from here on needs a run of their own.
      this.#running.delete(name)
    }
  }
}
