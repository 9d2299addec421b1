import type { Server } from 'node:http'
import type { WebSocket } from 'ws'
import type { Refusal } from '../../facades/realtime/address.ts'
import { codes } from '../../facades/realtime/close-codes.ts'
import { established } from '../../facades/realtime/frames.ts'
import type { Services } from '../../routers/core/services.ts'
import type { Env } from '../config/settings.ts'
import { Channels } from './channels.ts'
import { Connection } from './connection.ts'
import { Connections } from './connections.ts'
import { Credentials } from './credentials.ts'
import { FrameHandler } from './frame-handler.ts'
import { Subscriber } from './subscribe.ts'
import { Upgrades } from './upgrade.ts'

/** After so many seconds without a message a client asks for a sign of life. */
const ACTIVITY_SECONDS = 30

interface RealtimeOptions {
  env: Env
  services: Services
  server: Server
}

/** Real time by the Pusher protocol, on the server of all other surfaces. */
export class Realtime {
  readonly #maxChannels: number
  readonly #upgrades: Upgrades
  readonly #connections: Connections
  readonly #channels: Channels
  readonly #credentials: Credentials
  readonly #frames: FrameHandler

  constructor({ env, services, server }: RealtimeOptions) {
    const { settings, changeBus: bus, roomDirectory: directory, sql } = services
    const { baseUrl, realtime: keys, sessionLifetime } = settings
    this.#maxChannels = env.REALTIME_CHANNELS_PER_CONNECTION
    this.#connections = new Connections({
      max: env.REVERB_APP_MAX_CONNECTIONS,
      maxPerPerson: env.REALTIME_CONNECTIONS_PER_PERSON,
      pingInterval: env.REVERB_APP_PING_INTERVAL,
    })
    this.#channels = new Channels(services.changeStreams)
    this.#credentials = new Credentials({ sql, sessionLifetime })
    const { connections, channels, credentials } = this.#parts
    const subscriber = new Subscriber({
      keys,
      channels,
      connections,
      credentials,
      directory,
      maxChannels: this.#maxChannels,
    })
    this.#frames = new FrameHandler({ channels, subscriber, bus })
    this.#upgrades = new Upgrades(server, {
      baseUrl,
      key: keys.key,
      origins: new Set([new URL(baseUrl).origin, ...env.CORS_ORIGINS]),
      handshakesPerSecond: env.REALTIME_HANDSHAKES_PER_SECOND,
      onConnected: (ws, refusal) => this.#connect(ws, refusal),
    })
  }

  close(): void {
    this.#upgrades.close()
    this.#connections.close()
    this.#credentials.close()
  }

  get #parts() {
    return { connections: this.#connections, channels: this.#channels, credentials: this.#credentials }
  }

  #connect(ws: WebSocket, refusal: Refusal | undefined) {
    ws.on('error', () => {})
    const connection = new Connection(ws, this.#maxChannels)
    if (refusal) return connection.close(refusal.code, refusal.message)
    if (!this.#connections.add(connection)) return connection.close(codes.overCapacity, 'There is no room.')
    ws.on('pong', () => void connection.heard())
    ws.on('message', (bytes, isBinary) => this.#frames.take(connection, String(bytes), isBinary))
    ws.on('close', () => this.#disconnect(connection))
    connection.send(established(connection.id, ACTIVITY_SECONDS))
  }

  #disconnect(connection: Connection): void {
    const subscriptions = [...connection.subscriptions.values()].filter((it) => it !== undefined)
    connection.subscriptions.clear()
    for (const subscription of subscriptions) this.#channels.remove(subscription)
    this.#credentials.forget(connection)
    this.#connections.remove(connection)
  }
}
