import type { ServerEventBus } from '@modelcontextprotocol/server'
import type { Api } from '../../routers/index.ts'

type Changes = Awaited<ReturnType<Api['mcpGateway']['listChanges']>>
type Listener = Parameters<ServerEventBus['subscribe']>[0]

/** Passes the changes of one person's lists to the one request that listens to them. */
export class ListChangeBus implements ServerEventBus {
  readonly #changes: Changes
  readonly #logFailure: (error: unknown) => void
  /** Resolves once the changes have ended. */
  readonly ended: Promise<void>
  readonly #end: () => void

  constructor(changes: Changes, logFailure: (error: unknown) => void) {
    this.#changes = changes
    this.#logFailure = logFailure
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#end = resolve
  }

  publish(): void {
    throw new Error('Changes come from the service alone.')
  }

  subscribe(listener: Listener): () => void {
    void this.#pass(listener)
    return () => void this.#changes.return()
  }

  async #pass(listener: Listener): Promise<void> {
    try {
      for await (const { list } of this.#changes) listener({ kind: `${list}_list_changed` })
    } catch (error) {
      // Nothing awaits this, and an unhandled rejection would end the process.
      this.#logFailure(error)
    }
    this.#end()
  }
}
