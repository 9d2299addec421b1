import { codes } from '../../facades/realtime/frames.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'
import type { Connection } from './connection.ts'

const SIGNED_OUT = 'You are signed out.'

interface WatchedCredential {
  /** One string for all connections, instead of the equal ones that each was sent. */
  readonly credential: string
  readonly connections: Set<Connection>
  /** Resolves with a function that stops the watch; with undefined if the credential had already ended. */
  readonly watching: Promise<(() => void) | undefined>
}

/** The sessions and tokens that authorized subscriptions. Each is watched once, for all of its connections. */
export class ConnectionCredentials {
  readonly #watch: CredentialWatch
  readonly #watched = new Map<string, WatchedCredential>()

  constructor(watch: CredentialWatch) {
    this.#watch = watch
  }

  /** Attaches a credential to a connection, whose subscriptions by it end with it. Returns whether it is valid. */
  async attach(credential: string, connection: Connection): Promise<boolean> {
    if (connection.credentials.includes(credential)) return true
    const watched = this.#watched.get(credential) ?? this.#startWatching(credential)
    watched.connections.add(connection)
    try {
      const stop = await watched.watching
      if (stop && connection.isOpen && watched.connections.has(connection))
        addCredential(watched.credential, connection)
    } finally {
      if (!connection.credentials.includes(credential)) this.#detach(credential, watched, connection)
    }
    return connection.credentials.includes(credential)
  }

  detach(connection: Connection): void {
    for (const credential of connection.credentials) {
      const watched = this.#watched.get(credential)
      if (watched) this.#detach(credential, watched, connection)
    }
  }

  #startWatching(credential: string): WatchedCredential {
    const watched = {
      credential,
      connections: new Set<Connection>(),
      watching: this.#watch.watch(credential, () => this.#end(credential)),
    }
    this.#watched.set(credential, watched)
    return watched
  }

  #detach(credential: string, watched: WatchedCredential, connection: Connection): void {
    watched.connections.delete(connection)
    if (watched.connections.size > 0 || this.#watched.get(credential) !== watched) return
    this.#watched.delete(credential)
    watched.watching.then(
      (stop) => stop?.(),
      () => {},
    )
  }

  #end(credential: string): void {
    const connections = this.#watched.get(credential)?.connections ?? []
    this.#watched.delete(credential)
    for (const connection of connections) removeCredential(credential, connection)
  }
}

/** Adds a credential to a connection, unless a concurrent call has added it. */
function addCredential(credential: string, connection: Connection) {
  if (!connection.credentials.includes(credential)) connection.credentials = [...connection.credentials, credential]
}

/** Ends the subscriptions that a credential authorized, and the connection if it has no other credential. */
function removeCredential(credential: string, connection: Connection) {
  connection.credentials = connection.credentials.filter((other) => other !== credential)
  if (connection.credentials.length === 0) return connection.close(codes.unauthorized, SIGNED_OUT)
  for (const subscription of connection.subscriptions.values())
    if (subscription?.credential === credential) subscription.channel.end(subscription, 401, SIGNED_OUT)
}
