import { codes } from '../../facades/realtime/frames.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'
import type { Connection } from './connection.ts'

const SIGNED_OUT = 'You are signed out.'

interface Held {
  /** One text for all connections, each of which was sent its own. */
  readonly credential: string
  readonly connections: Set<Connection>
  /** Resolves with the way to stop; undefined where it had ended before. */
  readonly watching: Promise<(() => void) | undefined>
}

/** The sessions and tokens under which connections are subscribed: each is watched once, for all of its connections. */
export class Credentials {
  readonly #watch: CredentialWatch
  readonly #held = new Map<string, Held>()

  constructor(watch: CredentialWatch) {
    this.#watch = watch
  }

  /** Whether it still holds; what it signed on the connection ends with it. */
  async begin(credential: string, connection: Connection): Promise<boolean> {
    if (connection.credentials.includes(credential)) return true
    const held = this.#held.get(credential) ?? this.#hold(credential)
    held.connections.add(connection)
    try {
      const stop = await held.watching
      if (stop && connection.isOpen && held.connections.has(connection)) note(held.credential, connection)
    } finally {
      if (!connection.credentials.includes(credential)) this.#leave(credential, held, connection)
    }
    return connection.credentials.includes(credential)
  }

  forget(connection: Connection): void {
    for (const credential of connection.credentials) {
      const held = this.#held.get(credential)
      if (held) this.#leave(credential, held, connection)
    }
  }

  #hold(credential: string): Held {
    const held = {
      credential,
      connections: new Set<Connection>(),
      watching: this.#watch.watch(credential, () => this.#end(credential)),
    }
    this.#held.set(credential, held)
    return held
  }

  #leave(credential: string, held: Held, connection: Connection): void {
    held.connections.delete(connection)
    if (held.connections.size > 0 || this.#held.get(credential) !== held) return
    this.#held.delete(credential)
    held.watching.then(
      (stop) => stop?.(),
      () => {},
    )
  }

  #end(credential: string): void {
    const connections = this.#held.get(credential)?.connections ?? []
    this.#held.delete(credential)
    for (const connection of connections) end(credential, connection)
  }
}

/** Two waits for the same one may end after each other. */
function note(credential: string, connection: Connection) {
  if (!connection.credentials.includes(credential)) connection.credentials = [...connection.credentials, credential]
}

/** Ends what was signed by it, and the connection where nothing else was. */
function end(credential: string, connection: Connection) {
  connection.credentials = connection.credentials.filter((other) => other !== credential)
  if (connection.credentials.length === 0) return connection.close(codes.unauthorized, SIGNED_OUT)
  for (const subscription of connection.subscriptions.values())
    if (subscription?.credential === credential) subscription.channel.end(subscription, 401, SIGNED_OUT)
}
