import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { ChangeListener } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'

/** Those who listen in this process. One that throws keeps nothing from the others, nor from the request that published. */
export class ChangeListeners implements ChangeListener {
  readonly #listeners = new Set<ChangeListener>()
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  add(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  onChanges(changes: readonly LoggedChange[]): void {
    this.#each((listener) => listener.onChanges(changes))
  }

  onInterruption(): void {
    this.#each((listener) => listener.onInterruption())
  }

  onMessage(topic: string, content: unknown): void {
    this.#each((listener) => listener.onMessage?.(topic, content))
  }

  #each(tell: (listener: ChangeListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        tell(listener)
      } catch (error) {
        this.#log.error({ error }, 'a listener of the change log failed')
      }
    }
  }
}
