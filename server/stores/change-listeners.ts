import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { ChangeListener } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'

/** The listeners of this process. An error of one listener is logged and affects neither the others nor the publisher. */
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
    this.#notifyAll((listener) => listener.onChanges(changes))
  }

  onInterruption(): void {
    this.#notifyAll((listener) => listener.onInterruption())
  }

  onMessage(topic: string, content: unknown): void {
    this.#notifyAll((listener) => listener.onMessage?.(topic, content))
  }

  #notifyAll(notify: (listener: ChangeListener) => void): void {
    for (const listener of this.#listeners) {
      try {
        notify(listener)
      } catch (error) {
        this.#log.error({ error }, 'a listener of the change log failed')
      }
    }
  }
}
