/** The listeners of a state outside of React, which components read with `useSyncExternalStore`. */
export class Listeners {
  readonly #listeners = new Set<() => void>()

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Resolves with the next change. */
  async waitForNext(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const unsubscribe = this.subscribe(resolve)
    await promise
    unsubscribe()
  }

  notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
