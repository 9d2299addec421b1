import type Pusher from 'pusher-js'
import {
  overPusher,
  type PusherChannel,
  type PusherClient,
  retryDelay,
  type Transport,
} from '../../../client/live/index.ts'
import { api, type Connection } from '../shared/api/client.ts'

/** Milliseconds without a connection after which the fallback transport is used. */
const CONNECT_TIMEOUT_MS = 5000
/** Milliseconds after a refusal in which another one counts as repeated. */
const REPEATED_MS = 120_000

interface WebsocketConfig {
  key: string
  host: string
  port: number
  forceTls: boolean
  path: string
}

let socketPromise: Promise<Socket> | undefined

/** Returns the page's one Pusher connection, which is made again when it is lost. The library loads with the first room. */
export function openSocket({ websocket }: Connection): Promise<Socket> {
  socketPromise ??= connect(websocket as unknown as WebsocketConfig)
  return socketPromise
}

/** Subscribes to something once there is a connection; without one nothing happens. Returns a function that unsubscribes. */
export function subscribeOnSocket(connection: Connection, subscribe: (socket: Socket) => () => void): () => void {
  let unsubscribe = () => {}
  let isStopped = false
  openSocket(connection).then(
    (socket) => {
      if (!isStopped) unsubscribe = subscribe(socket)
    },
    () => {},
  )
  return () => {
    isStopped = true
    unsubscribe()
  }
}

async function connect({ key, host, port, forceTls, path }: WebsocketConfig): Promise<Socket> {
  const { default: Client } = await import('pusher-js')
  const pusher = new Client(key, {
    cluster: '',
    wsHost: host,
    wsPort: port,
    wssPort: port,
    wsPath: path,
    forceTLS: forceTls,
    enabledTransports: ['ws', 'wss'],
    disableStats: true,
    unavailableTimeout: CONNECT_TIMEOUT_MS,
    channelAuthorization: {
      transport: 'ajax',
      endpoint: '',
      customHandler: ({ socketId, channelName }, callback) => {
        api.realtime.authorize.mutate({ socketId, channel: channelName }).then(
          (signed) => callback(null, signed),
          (error: Error & { status?: number }) => callback(Object.assign(error, { status: error.status ?? 503 }), null),
        )
      },
    },
  })
  reconnectAfterRefusal(pusher)
  return new Socket(pusher)
}

/**
 * Connects again after a refusal, such as the end of a session that got another id. The library reconnects only after
 * other closures. The page itself never disconnects.
 */
function reconnectAfterRefusal(pusher: Pusher): void {
  let attempt = 0
  let refusedAt = Number.NEGATIVE_INFINITY
  pusher.connection.bind('disconnected', () => {
    attempt = Date.now() - refusedAt < REPEATED_MS ? attempt + 1 : 1
    refusedAt = Date.now()
    setTimeout(() => pusher.connect(), retryDelay(attempt))
  })
}

/** The position in the change log of a channel. */
interface ChannelPosition {
  epoch: string
  seq: number
}

interface SharedChannel {
  count: number
  /** Undefined until the server reports it. */
  position?: ChannelPosition | undefined
  hasFailed: boolean
}

const SUBSCRIBED = 'pusher:subscription_succeeded'

/** Shares each channel among its subscribers. A late subscriber receives the current position at once. */
export class Socket implements PusherClient {
  readonly pusher: Pusher
  readonly #channels = new Map<string, SharedChannel>()

  constructor(pusher: Pusher) {
    this.pusher = pusher
    pusher.connection.bind('state_change', () => {
      for (const shared of this.#channels.values()) shared.position = undefined
    })
  }

  subscribe(name: string): PusherChannel {
    const channel = this.pusher.subscribe(name)
    const shared = this.#channels.get(name) ?? this.#openChannel(name, channel)
    if (shared.hasFailed) shared.hasFailed = false
    else shared.count += 1
    return {
      bind(event, callback) {
        channel.bind(event, callback)
        const { position } = shared
        if (event === SUBSCRIBED && position) queueMicrotask(() => callback(position))
      },
      unbind: (event, callback) => channel.unbind(event, callback),
    }
  }

  unsubscribe(name: string): void {
    const shared = this.#channels.get(name)
    if (!shared) return
    shared.count -= 1
    if (shared.count > 0) return
    this.#channels.delete(name)
    this.pusher.unsubscribe(name)
  }

  #openChannel(name: string, channel: PusherChannel): SharedChannel {
    const shared: SharedChannel = { count: 0, hasFailed: false }
    const storePosition = ({ epoch, seq }: ChannelPosition) => {
      shared.position = { epoch, seq }
    }
    for (const event of [SUBSCRIBED, 'change', 'position']) channel.bind(event, storePosition)
    channel.bind('pusher:subscription_error', () => {
      shared.hasFailed = true
    })
    this.#channels.set(name, shared)
    return shared
  }
}

/** Subscribes over the Pusher protocol, or over the fallback if no connection can be made. */
export const createSocketTransport = (connection: Connection, channel: string, fallback: Transport): Transport => ({
  listen(listener) {
    let isStopped = false
    let stop = () => {}
    const listenBy = (transport: Transport) => {
      stop()
      if (!isStopped) stop = transport.listen(listener)
    }
    openSocket(connection).then(
      (socket) => {
        listenBy(overPusher(socket, channel))
        onConnectionFailure(socket, () => listenBy(fallback))
      },
      () => listenBy(fallback),
    )
    return () => {
      isStopped = true
      stop()
    }
  },
})

/** The states without a connection; a refused connection is `disconnected`. */
const failureStates: ReadonlySet<string> = new Set(['unavailable', 'failed', 'disconnected'])

/** Calls back once if no connection can be made. One that existed before is only waited for, as it is made again. */
function onConnectionFailure({ pusher: { connection } }: Socket, act: () => void): void {
  const check = ({ current }: { current: string }) => {
    if (current === 'connected') connection.unbind('state_change', check)
    if (!navigator.onLine || !failureStates.has(current)) return
    connection.unbind('state_change', check)
    act()
  }
  connection.bind('state_change', check)
  check({ current: connection.state })
}
