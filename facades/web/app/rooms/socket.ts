import type Pusher from 'pusher-js'
import { overPusher, type PusherChannel, type PusherClient, type Transport } from '../../../client/live/index.ts'
import { api, type Connection } from '../shared/api/client.ts'

/** After so long without a connection, another way is taken. */
const PATIENCE_MS = 5000

interface Websocket {
  key: string
  host: string
  port: number
  forceTls: boolean
  path: string
}

let opening: Promise<Socket> | undefined

/** The one connection of this page by the Pusher protocol, which comes back by itself. Loaded with the first room. */
export function openSocket({ websocket }: Connection): Promise<Socket> {
  opening ??= connect(websocket as unknown as Websocket)
  return opening
}

async function connect({ key, host, port, forceTls, path }: Websocket): Promise<Socket> {
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
    unavailableTimeout: PATIENCE_MS,
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
  return new Socket(pusher)
}

/** Where a channel stands. */
interface ChannelPosition {
  epoch: string
  seq: number
}

interface ChannelUse {
  count: number
  /** Undefined as long as nothing is told. */
  position?: ChannelPosition | undefined
  hasFailed: boolean
}

const SUBSCRIBED = 'pusher:subscription_succeeded'

/** Shares each channel among all that listen to it: whoever comes later is told at once where it stands. */
export class Socket implements PusherClient {
  readonly pusher: Pusher
  readonly #uses = new Map<string, ChannelUse>()

  constructor(pusher: Pusher) {
    this.pusher = pusher
    pusher.connection.bind('state_change', () => {
      for (const use of this.#uses.values()) use.position = undefined
    })
  }

  subscribe(name: string): PusherChannel {
    const channel = this.pusher.subscribe(name)
    const use = this.#uses.get(name) ?? this.#begin(name, channel)
    if (use.hasFailed) use.hasFailed = false
    else use.count += 1
    return {
      bind(event, callback) {
        channel.bind(event, callback)
        const { position } = use
        if (event === SUBSCRIBED && position) queueMicrotask(() => callback(position))
      },
      unbind: (event, callback) => channel.unbind(event, callback),
    }
  }

  unsubscribe(name: string): void {
    const use = this.#uses.get(name)
    if (!use) return
    use.count -= 1
    if (use.count > 0) return
    this.#uses.delete(name)
    this.pusher.unsubscribe(name)
  }

  #begin(name: string, channel: PusherChannel): ChannelUse {
    const use: ChannelUse = { count: 0, hasFailed: false }
    const note = ({ epoch, seq }: ChannelPosition) => {
      use.position = { epoch, seq }
    }
    for (const event of [SUBSCRIBED, 'change', 'position']) channel.bind(event, note)
    channel.bind('pusher:subscription_error', () => {
      use.hasFailed = true
    })
    this.#uses.set(name, use)
    return use
  }
}

/** Listens by the Pusher protocol; where no connection comes about in the first place, by the other way. */
export const overSocket = (connection: Connection, channel: string, otherwise: Transport): Transport => ({
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
        onFailure(socket, () => listenBy(otherwise))
      },
      () => listenBy(otherwise),
    )
    return () => {
      isStopped = true
      stop()
    }
  },
})

/** Calls where a connection cannot be made. One that was there comes back by itself. */
function onFailure({ pusher: { connection } }: Socket, act: () => void): void {
  const look = ({ current }: { current: string }) => {
    if (current === 'connected') connection.unbind('state_change', look)
    if (!navigator.onLine || (current !== 'unavailable' && current !== 'failed')) return
    connection.unbind('state_change', look)
    act()
  }
  connection.bind('state_change', look)
  look({ current: connection.state })
}
