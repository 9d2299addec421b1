import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { codes, established, type Refusal } from '../../facades/realtime/frames.ts'
import type { Hooks } from '../../routers/core/hooks.ts'
import type { Services } from '../../routers/core/services.ts'
import { withTimeout } from '../../routers/core/timeout.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { ChangeStreams } from '../../routers/ports/change-streams.ts'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'
import { deepChecks } from '../../routers/ports/health.ts'
import type { Gauges } from '../../routers/ports/metrics.ts'
import type { Subscriptions } from '../../routers/ports/subscriptions.ts'
import type { ReplicaStats } from '../../routers/rooms/realtime.ts'
import type { Env } from '../config/settings.ts'
import type { DrainTimes } from '../http/drain.ts'
import { Channels } from './channels.ts'
import { Connection } from './connection.ts'
import { Connections } from './connections.ts'
import { Credentials } from './credentials.ts'
import { FrameHandler } from './frame-handler.ts'
import { Presence } from './presence.ts'
import { Replicas } from './replicas.ts'
import { Subscriber } from './subscribe.ts'
import { Upgrades } from './upgrade.ts'

/** After so many seconds without a message a client asks for a sign of life. */
const ACTIVITY_SECONDS = 30

/** How long a closed connection is waited for at the end, in milliseconds. */
const GOODBYE_MS = 1000

const STOPPING = 'The service stops here. Come back.'

interface RealtimeOptions {
  env: Env
  services: Services
  credentials: CredentialWatch
  places: ConcurrencyLimiter
  /** The name of this one. */
  replica: string
  server: Server
}

/** Real time by the Pusher protocol, on the server of all other surfaces. */
export class Realtime {
  readonly #maxChannels: number
  readonly #upgrades: Upgrades
  readonly #connections: Connections
  readonly #channels: Channels
  readonly #credentials: Credentials
  readonly #replicas: Replicas
  readonly #presence: Presence
  readonly #streams: ChangeStreams
  readonly #subscriptions: Subscriptions
  readonly #frames: FrameHandler
  readonly #handshakesPerSecond: number
  readonly #stopReporting: () => void
  #isDraining = false

  constructor({ env, services, credentials: watch, places, replica, server }: RealtimeOptions) {
    const { settings, changeBus: bus, roomDirectory: directory, kv, hooks, sql } = services
    const { baseUrl, realtime: keys } = settings
    this.#streams = services.changeStreams
    this.#subscriptions = services.subscriptions
    this.#maxChannels = env.REALTIME_CHANNELS_PER_CONNECTION
    this.#handshakesPerSecond = env.REALTIME_HANDSHAKES_PER_SECOND
    this.#stopReporting = hooks.on('replica-asked', ({ parts }) => this.#report(parts, bus))
    this.#connections = new Connections({
      places,
      max: env.REVERB_APP_MAX_CONNECTIONS,
      maxPerPerson: env.REALTIME_CONNECTIONS_PER_PERSON,
      pingInterval: env.REVERB_APP_PING_INTERVAL,
    })
    this.#replicas = new Replicas({
      ...{ own: replica, kv, bus },
      stats: () => this.#stats(),
      findFailing: () => findFailing(services),
    })
    this.#presence = new Presence({ kv, bus, replicas: this.#replicas })
    this.#channels = new Channels(services.changeStreams, this.#presence)
    this.#credentials = new Credentials(watch)
    const { connections, channels, credentials } = this.#parts
    const subscriber = new Subscriber({
      keys,
      channels,
      connections,
      credentials,
      directory,
      presence: this.#presence,
      maxChannels: this.#maxChannels,
    })
    this.#frames = new FrameHandler({ channels, subscriber, bus, hooks, sql })
    this.#upgrades = new Upgrades(server, {
      baseUrl,
      key: keys.key,
      origins: new Set([new URL(baseUrl).origin, ...env.CORS_ORIGINS]),
      handshakesPerSecond: this.#handshakesPerSecond,
      onConnected: (ws, refusal) => this.#connect(ws, refusal),
    })
  }

  /** Sends clients to other replicas, not faster than those take them; resolves once they are gone. */
  async drain({ delay, timeout }: DrainTimes): Promise<void> {
    await pause(delay)
    this.#isDraining = true
    const leave = (connection: Connection) => connection.close(codes.overCapacity, STOPPING)
    await inSlices([...this.#connections], this.#handshakesPerSecond, 0.8 * timeout, leave)
    for (let waited = 0; this.#connections.size > 0 && waited < GOODBYE_MS; waited += 20) await pause(20)
  }

  close(): void {
    this.#stopReporting()
    this.#upgrades.close()
    this.#connections.close()
    this.#presence.close()
    this.#replicas.close()
  }

  get #parts() {
    return { connections: this.#connections, channels: this.#channels, credentials: this.#credentials }
  }

  #connect(ws: WebSocket, refusal: Refusal | undefined) {
    ws.on('error', ignore)
    const connection = new Connection(ws, this.#maxChannels)
    if (refusal) return connection.close(refusal.code, refusal.message)
    if (this.#isDraining) return connection.close(codes.overCapacity, STOPPING)
    if (!this.#connections.add(connection)) return connection.close(codes.overCapacity, 'There is no room.')
    const hear = () => this.#frames.hear(connection)
    ws.on('ping', hear).on('pong', hear)
    ws.on('message', (bytes, isBinary) => this.#frames.take(connection, String(bytes), isBinary))
    ws.on('close', () => this.#disconnect(connection))
    connection.send(established(connection.id, ACTIVITY_SECONDS))
  }

  /** What is open at this replica, for operators. */
  gauges(): Gauges {
    const { connections, subscriptions, lagMs } = this.#stats()
    return { svc_sockets: connections, svc_streams: subscriptions, svc_change_lag_seconds: lagMs / 1000 }
  }

  #stats(): ReplicaStats {
    const { size: connections, people } = this.#connections
    const { behind } = this.#streams.counts()
    const [channels, subscriptions] = [this.#channels.size, this.#subscriptions.count()]
    return { connections, people, channels, subscriptions, behind, lagMs: this.#channels.takeLag() }
  }

  #report(parts: Hooks['replica-asked']['parts'], bus: ChangeBus): void {
    const { size, people } = this.#connections
    const open = `${size} connections of ${people} people to ${this.#channels.size} channels.`
    const isWell = bus.isConnected()
    parts['realtime'] = { isWell: true, message: open }
    parts['changeBus'] = {
      isWell,
      message: isWell ? 'Changes reach all replicas.' : 'Changes reach other replicas late.',
    }
  }

  #disconnect(connection: Connection): void {
    const subscriptions = [...connection.subscriptions.values()].filter((it) => it !== undefined)
    connection.subscriptions.clear()
    for (const subscription of subscriptions) subscription.channel.drop(subscription)
    this.#credentials.forget(connection)
    this.#connections.remove(connection)
  }
}

/** Longer, in milliseconds, and a part counts as not working: whoever asks all replicas waits a little more. */
const PART_TIMEOUT_MS = 1000

/** Looks at the parts of this replica, and names those that do not work. */
async function findFailing({ healthChecks, hooks }: Services): Promise<string[]> {
  const reported: Hooks['replica-asked']['parts'] = {}
  hooks.emit('replica-asked', { parts: reported })
  const looks = deepChecks.map((name) =>
    withTimeout(healthChecks[name](), PART_TIMEOUT_MS).then(
      () => [],
      () => [name],
    ),
  )
  const failing = Object.keys(reported).filter((name) => !reported[name]?.isWell)
  return [...(await Promise.all(looks)).flat(), ...failing]
}

/** What breaks a connection closes it, too. */
const ignore = () => {}

const SLICE_MS = 50

/** Does something with each of many, so many a second, or faster where that would take longer than it may. */
async function inSlices<T>(all: readonly T[], perSecond: number, atMostMs: number, act: (one: T) => void) {
  const pace = Math.max(perSecond, (all.length * 1000) / Math.max(atMostMs, SLICE_MS))
  const perSlice = Math.ceil((pace * SLICE_MS) / 1000)
  for (let at = 0; at < all.length; at += perSlice) {
    if (at > 0) await pause((perSlice * 1000) / pace)
    all.slice(at, at + perSlice).forEach(act)
  }
}
