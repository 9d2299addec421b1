import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Redis } from 'ioredis'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import { withTimeout } from '../../routers/core/timeout.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'
import { ChangeListeners } from './change-listeners.ts'
import { connectRedis, type RedisAddress } from './redis-connection.ts'

/** A message between replicas: a broadcast, or changes, or neither, which means that some messages could not be sent. */
interface Message {
  from: string
  changes?: readonly LoggedChange[]
  /** A broadcast, under the name that earlier versions send. */
  told?: { topic: string; content: unknown }
}

/** Largest number of publications that Redis has not yet acknowledged. Beyond it nothing is sent; receivers read the change log instead. */
const MAX_IN_FLIGHT = 1000

/** Milliseconds that a broadcast waits for Redis. */
const MAX_WAIT_MS = 1000

/** Milliseconds after a failed publication until the other replicas are told of it. */
const RETRY_MS = 50

const isOpening = ({ status }: Redis) => status === 'connecting' || status === 'connect'

const connection = { enableOfflineQueue: false, maxRetriesPerRequest: 1, keepAlive: 10_000 }

/**
 * Creates a change bus over Redis Pub/Sub, which delivers at most once. If one of the two connections is lost, messages may
 * be missing: listeners are told of an interruption. Nothing is queued meanwhile.
 */
export function createRedisChangeBus(address: RedisAddress, log: Log): ChangeBus {
  const listeners = new ChangeListeners(log)
  const name = randomUUID()
  const receiver = connectRedis(address, { ...connection, autoResubscribe: false })
  // The databases of a Redis server share all channels, so the channel has the number of the database.
  const channel = `svc:changes:${receiver.options.db ?? 0}`
  receiveMessages(receiver, channel, (message) => dispatchMessage(message, name, listeners))
  const stopReporting = reportOutages(receiver, log)
  receiver.on('ready', () => {
    receiver.subscribe(channel).then(
      () => listeners.onInterruption(),
      () => receiver.disconnect(true),
    )
  })
  // Publications are never retried, so that no change arrives twice or after a later one.
  const sender = connectRedis(address, { ...connection, maxRetriesPerRequest: 0 })
  const publisher = new RedisPublisher(sender, channel)
  const others = createMessageSender(sender, publisher, name)
  return {
    publish(changes) {
      listeners.onChanges(changes)
      void others.send({ from: name, changes })
    },
    async broadcast(topic, content) {
      // A short command may end before its first connection is open.
      if (isOpening(sender)) await withTimeout(once(sender, 'ready'), MAX_WAIT_MS).catch(() => {})
      const message: Message = { from: name, told: { topic, content } }
      await withTimeout(others.send(message), MAX_WAIT_MS).catch(() => {})
    },
    isConnected: () => receiver.status === 'ready' && sender.status === 'ready',
    subscribe: (listener) => listeners.add(listener),
    close: async () => {
      stopReporting()
      receiver.disconnect()
      sender.disconnect()
    },
  }
}

/** Logs once when the connection is lost, and once when it is back. Returns a function that ends this. */
function reportOutages(redis: Redis, log: Log): () => void {
  let isLost = false
  const reportLoss = () => {
    if (!isLost) log.warn({}, 'Redis at REDIS_URL is not reached; what it shares among replicas is missing until it is')
    isLost = true
  }
  redis.on('close', reportLoss)
  redis.on('ready', () => {
    if (isLost) log.info({}, 'Redis at REDIS_URL is reached again')
    isLost = false
  })
  return () => redis.off('close', reportLoss)
}

/** Calls `take` with each message of the channel; with undefined if the text is no message of this version. */
function receiveMessages(redis: Redis, channel: string, take: (message: Message | undefined) => void): void {
  redis.on('message', (from: string, text: string) => {
    if (from === channel) take(readMessage(text))
  })
}

/** Passes a message of another replica to the listeners; without a message, reports an interruption. */
function dispatchMessage(message: Message | undefined, ownName: string, listeners: ChangeListeners): void {
  const { from, changes = [], told: broadcast } = message ?? { from: '' }
  if (from === ownName) return
  if (broadcast) listeners.onMessage(broadcast.topic, broadcast.content)
  else if (changes.length > 0) listeners.onChanges(changes)
  else listeners.onInterruption()
}

function readMessage(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return typeof message === 'object' && message && 'from' in message ? (message as Message) : undefined
  } catch {
    return undefined
  }
}

/** Publishes texts to a channel; it is closed while too many publications wait for Redis. */
class RedisPublisher {
  readonly #redis: Redis
  readonly #channel: string
  #inFlight = 0

  constructor(redis: Redis, channel: string) {
    this.#redis = redis
    this.#channel = channel
  }

  get isOpen(): boolean {
    return this.#inFlight < MAX_IN_FLIGHT && this.#redis.status === 'ready'
  }

  async send(text: string): Promise<void> {
    this.#inFlight += 1
    await this.#redis.publish(this.#channel, text).finally(() => {
      this.#inFlight -= 1
    })
  }
}

/** Sends messages to the other replicas. After messages that could not be sent, tells them so as soon as possible. */
function createMessageSender(redis: Redis, publisher: RedisPublisher, from: string) {
  let inFlight = 0
  let hasLostMessages = false
  const publish = async (message: Message) => {
    inFlight += 1
    try {
      await publisher.send(JSON.stringify(message))
    } catch {
      hasLostMessages = true
    }
    inFlight -= 1
    if (inFlight === 0 && hasLostMessages) retry.refresh()
  }
  const reportLostMessages = () => {
    if (!hasLostMessages || redis.status !== 'ready') return
    hasLostMessages = false
    void publish({ from })
  }
  // A broken connection is `ready` until its `close` event: retrying at once would keep that event from ever firing.
  const retry = setTimeout(reportLostMessages, RETRY_MS).unref()
  redis.on('ready', reportLostMessages)
  return {
    /** Never throws. */
    async send(message: Message): Promise<void> {
      if (publisher.isOpen) return publish(message)
      hasLostMessages = true
    },
  }
}
