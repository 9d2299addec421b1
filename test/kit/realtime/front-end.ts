import {
  type Change,
  type FollowOptions,
  follow,
  overPusher,
  type PusherClient,
  roomStream,
  type Transport,
} from '../../../facades/client/live/index.ts'

interface FrontEndOptions {
  /** The address of the service. */
  url: string
  token: string
  room: string
  /** The transport; server-sent events unless told otherwise. */
  over?: { pusher: PusherClient; channel: string }
}

/** Milliseconds until a front end retries, and until it gives up a request. */
const RETRY_MS = 200
const TIMEOUT_MS = 4000

/** A room as its members see it: its messages and members with their attributes. */
export type RoomSight = Record<string, unknown>

/** A front end that shows one room by the module of the packed client, and records all events. */
export class FrontEnd {
  sight = new Map<string, unknown>()
  /** The numbers of all received changes, including repeats. */
  readonly receivedSeqs: number[] = []
  /** The numbers of all applied changes, including those read after a gap. */
  readonly appliedSeqs: number[] = []
  endedBy: string | undefined
  /** Number of full reads. */
  reads = 0
  readonly live: ReturnType<typeof follow>
  readonly #options: FrontEndOptions

  constructor(options: FrontEndOptions) {
    this.#options = options
    const { url, token, room, over } = options
    const retryDelay = () => RETRY_MS
    const service = { url, headers: { authorization: `Bearer ${token}` }, timeout: TIMEOUT_MS }
    const stream = roomStream(service, room, { retryDelay })
    const transport = over ? overPusher(over.pusher, over.channel, { retryDelay }) : stream.transport
    const followOptions: FollowOptions = {
      ...stream,
      transport: this.#noting(transport),
      read: (signal) => this.#read(signal),
      apply: (change, signal) => this.#apply(change, signal),
      ended: ({ code }) => {
        this.endedBy = code
      },
      retryDelay,
    }
    this.live = follow(followOptions)
  }

  get room(): string {
    return this.#options.room
  }

  get shown(): RoomSight {
    return Object.fromEntries([...this.sight].toSorted(([one], [other]) => one.localeCompare(other)))
  }

  stop(): void {
    this.live.stop()
  }

  #noting(transport: Transport): Transport {
    return {
      listen: (listener) =>
        transport.listen({
          subscribed: (position) => listener.subscribed(position),
          ended: (reason) => listener.ended(reason),
          changed: (position, change) => {
            this.receivedSeqs.push(change.seq)
            listener.changed(position, change)
          },
        }),
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    this.sight = await readRoom(this.#options, signal)
    this.reads += 1
  }

  async #apply(change: Change, signal: AbortSignal): Promise<void> {
    await this.#show(change, signal)
    this.appliedSeqs.push(change.seq)
  }

  async #show({ kind, subject }: Change, signal: AbortSignal): Promise<void> {
    const [type = ''] = kind.split('.')
    if (type === 'rooms') return
    const key = `${type}/${subject}`
    const { status, body } = await fetchJson(this.#options, `/${key}`, signal)
    const [attributes] = status === 200 ? [body.data].flat().map((one) => one.attributes) : []
    if (attributes && attributes['state'] !== 'removed') this.sight.set(key, attributes)
    else this.sight.delete(key)
  }
}

interface Answer {
  data: { type: string; id: string; attributes: Record<string, unknown> }[]
  meta: { page: { lastPage: number } }
}

/** Everything that a member sees of a room now. */
export async function readRoom(options: FrontEndOptions, signal?: AbortSignal): Promise<Map<string, unknown>> {
  const sight = new Map<string, unknown>()
  for (const list of ['members', 'messages'])
    for (let page = 1, last = 1; page <= last; page++) {
      const path = `/rooms/${options.room}/${list}?page[size]=200&page[number]=${page}`
      const { status, body } = await fetchJson(options, path, signal)
      if (status !== 200) throw new Error(`${path}: ${status}`)
      for (const { type, id, attributes } of body.data) sight.set(`${type}/${id}`, attributes)
      last = body.meta.page.lastPage
    }
  return sight
}

async function fetchJson({ url, token }: FrontEndOptions, path: string, stopped?: AbortSignal) {
  const headers = { authorization: `Bearer ${token}` }
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const signal = stopped ? AbortSignal.any([stopped, timeout]) : timeout
  const response = await fetch(`${url}/api/svc/v1${path}`, { headers, signal })
  const body = (await response.json()) as Answer
  if (response.status >= 500) throw new Error(`${path}: ${response.status}`)
  return { status: response.status, body }
}
