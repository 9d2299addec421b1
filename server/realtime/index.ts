import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { type ConnectionError, codes, writeEstablished } from '../../facades/realtime/frames.ts'
import type { Hooks } from '../../routers/core/hooks.ts'
import type { Services } from '../../routers/core/services.ts'
import { withTimeout } from '../../routers/core/timeout.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { ChangeStreams } from '../../routers/ports/change-streams.ts'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import { deepChecks } from '../../routers/ports/health.ts'
import type { Gauges } from '../../routers/ports/metrics.ts'
import type { Subscriptions } from '../../routers/ports/subscriptions.ts'
import type { ReplicaStats } from '../../routers/rooms/realtime.ts'
import type { Env } from '../config/settings.ts'
import type { DrainTimes } from '../http/drain.ts'
import { runInScope } from '../net/fault-scope.ts'
import { Channels } from './channels.ts'
import { Connection } from './connection.ts'
import { ConnectionCredentials } from './connection-credentials.ts'
import { Connections } from './connections.ts'
import { FrameHandler } from './frame-handler.ts'
import { Presence } from './presence.ts'
import { Replicas } from './replicas.ts'
import { Subscriber } from './subscriber.ts'
import { UpgradeHandler } from './upgrade-handler.ts'

/** Seconds without a message after which a client sends a ping. */
const ACTIVITY_SECONDS = 30

/** Milliseconds to wait for closed connections at the end. */
const GOODBYE_MS = 1000

const STOPPING = 'The service stops here. Come back.'

interface RealtimeOptions {
  env: Env
  services: Services
  concurrencyLimiter: ConcurrencyLimiter
  /** Name of this replica. */
  replica: string
  server: Server
}

/** The real-time server: the Pusher protocol over WebSockets, on the HTTP server of all facades. */
export class Realtime {
  readonly #maxChannels: number
  readonly #upgrades: UpgradeHandler
  readonly #connections: Connections
  readonly #channels: Channels
  readonly #credentials: ConnectionCredentials
  readonly #replicas: Replicas
  readonly #presence: Presence
  readonly #streams: ChangeStreams
  readonly #subscriptions: Subscriptions
  readonly #frames: FrameHandler
  readonly #handshakesPerSecond: number
  readonly #stopReporting: () => void
  #isDraining = false

  constructor({ env, services, concurrencyLimiter, replica, server }: RealtimeOptions) {
    const { bus, credentials, streams, subscriptions } = services.changes
    const { kv } = services.stores
    const { hooks } = services.process
    const { baseUrl, realtime: keys } = services.settings
    this.#streams = streams
    this.#subscriptions = subscriptions
    this.#maxChannels = env.REALTIME_CHANNELS_PER_CONNECTION
    this.#handshakesPerSecond = env.REALTIME_HANDSHAKES_PER_SECOND
    this.#stopReporting = hooks.on('replica-asked', ({ parts }) => this.#report(parts, bus))
    this.#connections = new Connections({
      limiter: concurrencyLimiter,
      max: env.REVERB_APP_MAX_CONNECTIONS,
      maxPerPerson: env.REALTIME_CONNECTIONS_PER_PERSON,
      pingInterval: env.REVERB_APP_PING_INTERVAL,
    })
    this.#replicas = new Replicas({
      own: replica,
      kv,
      bus,
      stats: () => this.#collectStats(),
      findFailing: () => findFailing(services),
    })
    this.#presence = new Presence({ kv, bus, replicas: this.#replicas })
    this.#channels = new Channels(streams, this.#presence)
    this.#credentials = new ConnectionCredentials(credentials)
    const channels = this.#channels
    const subscriber = new Subscriber({
      keys,
      channels,
      connections: this.#connections,
      credentials: this.#credentials,
      directory: services.rooms.directory,
      presence: this.#presence,
      maxChannels: this.#maxChannels,
    })
    this.#frames = new FrameHandler({ channels, subscriber, bus, hooks, sql: services.sql })
    this.#upgrades = new UpgradeHandler(server, {
      baseUrl,
      key: keys.key,
      origins: new Set([new URL(baseUrl).origin, ...env.CORS_ORIGINS]),
      handshakesPerSecond: this.#handshakesPerSecond,
      onConnected: (ws, refusal) => this.#connect(ws, refusal),
    })
  }

  /** Closes connections at the rate at which other replicas accept them; resolves once they are closed. */
  async drain({ delay, timeout }: DrainTimes): Promise<void> {
    await pause(delay)
    this.#isDraining = true
    const leave = (connection: Connection) => connection.close(codes.overCapacity, STOPPING)
    await forEachPaced([...this.#connections], this.#handshakesPerSecond, 0.8 * timeout, leave)
    for (let waited = 0; this.#connections.size > 0 && waited < GOODBYE_MS; waited += 20) await pause(20)
  }

  close(): void {
    this.#stopReporting()
    this.#upgrades.close()
    this.#connections.close()
    this.#presence.close()
    this.#replicas.close()
  }

  #connect(ws: WebSocket, refusal: ConnectionError | undefined) {
    ws.on('error', ignoreError)
    const connection = new Connection(ws, this.#maxChannels)
    if (refusal) return connection.close(refusal.code, refusal.message)
    if (this.#isDraining) return connection.close(codes.overCapacity, STOPPING)
    if (!this.#connections.add(connection)) return connection.close(codes.overCapacity, 'There is no room.')
    const recordActivity = () => runInSocketScope(connection, () => this.#frames.acceptActivity(connection))
    ws.on('ping', recordActivity).on('pong', recordActivity)
    ws.on('message', (bytes, isBinary) =>
      runInSocketScope(connection, () => this.#frames.handle(connection, String(bytes), isBinary)),
    )
    ws.on('close', () => runInSocketScope(connection, () => this.#disconnect(connection)))
    connection.send(writeEstablished(connection.id, ACTIVITY_SECONDS))
  }

  /** Returns the gauges of this replica for the metrics. */
  readGauges(): Gauges {
    const { connections, subscriptions, lagMs } = this.#collectStats()
    return { svc_sockets: connections, svc_streams: subscriptions, svc_change_lag_seconds: lagMs / 1000 }
  }

  #collectStats(): ReplicaStats {
    const { size: connections, people } = this.#connections
    const { behind } = this.#streams.countStreams()
    const [channels, subscriptions] = [this.#channels.size, this.#subscriptions.count()]
    return { connections, people, channels, subscriptions, behind, lagMs: this.#channels.readLag() }
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
    for (const subscription of subscriptions) subscription.channel.remove(subscription)
    this.#credentials.detach(connection)
    this.#connections.remove(connection)
  }
}

/** Milliseconds after which a health check counts as failed; the collection of reports of all replicas waits a little longer. */
const CHECK_TIMEOUT_MS = 1000

/** Runs the health checks of this replica; returns the names of those that fail. */
async function findFailing({ process: { healthChecks, hooks } }: Services): Promise<string[]> {
  const reported: Hooks['replica-asked']['parts'] = {}
  hooks.emit('replica-asked', { parts: reported })
  const checks = deepChecks.map((name) =>
    withTimeout(healthChecks[name](), CHECK_TIMEOUT_MS).then(
      () => [],
      () => [name],
    ),
  )
  const failing = Object.keys(reported).filter((name) => !reported[name]?.isWell)
  return [...(await Promise.all(checks)).flat(), ...failing]
}

/** Lets an error in the handling of a connection's events end only that connection. */
function runInSocketScope(connection: Connection, handle: () => unknown): void {
  const names = { socket: connection.id, person: connection.person }
  runInScope({ kind: 'socket', names, end: () => connection.terminate() }, handle)
}

/** Ignores an error of a socket, because the socket is closed anyway. */
const ignoreError = () => {}

const SLICE_MS = 50

/** Calls a function for each item at the given rate, or faster if that would exceed the given time. */
async function forEachPaced<T>(items: readonly T[], perSecond: number, maxMs: number, act: (item: T) => void) {
  const rate = Math.max(perSecond, (items.length * 1000) / Math.max(maxMs, SLICE_MS))
  const perSlice = Math.ceil((rate * SLICE_MS) / 1000)
  for (let at = 0; at < items.length; at += perSlice) {
    if (at > 0) await pause((perSlice * 1000) / rate)
    items.slice(at, at + perSlice).forEach(act)
  }
}
