import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Redis } from 'ioredis'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import { withTimeout } from '../../routers/core/timeout.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'
import { ChangeListeners } from './change-listeners.ts'
import { connectRedis, type RedisAddress } from './redis-connection.ts'

/** What one replica tells the others: something in passing, rows, or, without any, that it could not tell some. */
interface Message {
  from: string
  changes?: readonly LoggedChange[]
  told?: { topic: string; content: unknown }
}

/** Publications that Redis has not yet taken: with more, something is wrong, and the log has what was not told. */
const MAX_UNDER_WAY = 1000

/** How long somebody waits until Redis has taken what they tell, in milliseconds. */
const MAX_WAIT_MS = 1000

const isOpening = ({ status }: Redis) => status === 'connecting' || status === 'connect'

const connection = { enableOfflineQueue: false, maxRetriesPerRequest: 1, keepAlive: 10_000 }

/**
 * Carries changes over Redis, which tells each replica at most once. What may have been missed on the way, because one of
 * the two connections was lost, is announced as an interruption; nothing is queued meanwhile.
 */
export function overRedis(address: RedisAddress, log: Log): ChangeBus {
  const listeners = new ChangeListeners(log)
  const name = randomUUID()
  const receiver = connectRedis(address, { ...connection, autoResubscribe: false })
  // Databases of one server share all channels.
  const channel = `svc:changes:${receiver.options.db ?? 0}`
  receive(receiver, channel, (message) => announce(message, name, listeners))
  receiver.on('ready', () => {
    receiver.subscribe(channel).then(
      () => listeners.onInterruption(),
      () => receiver.disconnect(true),
    )
  })
  // What was perhaps sent is not sent again: nobody hears of a change twice, or after a later one.
  const sender = connectRedis(address, { ...connection, maxRetriesPerRequest: 0 })
  const outbox = new Outbox(sender, channel)
  const others = tellOthers(sender, outbox, name)
  return {
    publish(changes) {
      listeners.onChanges(changes)
      void others.send({ from: name, changes })
    },
    async broadcast(topic, content) {
      // A command may be over before its first connection is there.
      if (isOpening(sender)) await withTimeout(once(sender, 'ready'), MAX_WAIT_MS).catch(() => {})
      const message: Message = { from: name, told: { topic, content } }
      await withTimeout(others.send(message), MAX_WAIT_MS).catch(() => {})
    },
    isConnected: () => receiver.status === 'ready' && sender.status === 'ready',
    subscribe: (listener) => listeners.add(listener),
    close: async () => {
      receiver.disconnect()
      sender.disconnect()
    },
  }
}

/** Takes what replicas tell, and undefined for a text that none of this version can have sent. */
function receive(redis: Redis, channel: string, take: (message: Message | undefined) => void): void {
  redis.on('message', (from: string, text: string) => {
    if (from === channel) take(readMessage(text))
  })
}

/** Tells the listeners of this replica what another one told; without a message, that something was missed. */
function announce(message: Message | undefined, ownName: string, listeners: ChangeListeners): void {
  const { from, changes = [], told } = message ?? { from: '' }
  if (from === ownName) return
  if (told) listeners.onMessage(told.topic, told.content)
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

/** Hands texts to Redis, and says when it is late with too many. */
class Outbox {
  readonly #redis: Redis
  readonly #channel: string
  #underWay = 0

  constructor(redis: Redis, channel: string) {
    this.#redis = redis
    this.#channel = channel
  }

  get isOpen(): boolean {
    return this.#underWay < MAX_UNDER_WAY && this.#redis.status === 'ready'
  }

  async send(text: string): Promise<void> {
    this.#underWay += 1
    await this.#redis.publish(this.#channel, text).finally(() => {
      this.#underWay -= 1
    })
  }
}

/** Publishes messages, and after some that could not be published, as soon as it can be, that there were some. */
function tellOthers(redis: Redis, outbox: Outbox, from: string) {
  let underWay = 0
  let hasMissed = false
  const publish = async (message: Message) => {
    underWay += 1
    try {
      await outbox.send(JSON.stringify(message))
    } catch {
      hasMissed = true
    }
    underWay -= 1
    if (underWay === 0) tellWhatIsMissed()
  }
  const tellWhatIsMissed = () => {
    if (!hasMissed || redis.status !== 'ready') return
    hasMissed = false
    void publish({ from })
  }
  redis.on('ready', tellWhatIsMissed)
  return {
    /** Never throws. */
    async send(message: Message): Promise<void> {
      if (outbox.isOpen) return publish(message)
      hasMissed = true
    },
  }
}
