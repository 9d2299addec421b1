import { renewDisclosures } from '../../entities/rooms/room-disclosure.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { Slots } from '../../routers/core/slots.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'
import { ANSWER_LEASE_MS, type RoomAnswer, type RoomAnswers } from '../../routers/ports/room-answers.ts'

const TOPIC = 'cancel answer'
const RENEWAL_MS = 10_000
/** Under way at the same time. */
const LIMITS = { perKey: 4, inAll: 100 }

interface RoomAnswersOptions {
  sql: Sql
  bus: ChangeBus
  log: Log
}

interface Running {
  controller: AbortController
  ended: Promise<void>
}

/** The answers in rooms that this process makes: says in the database that they go on, and ends those that are over there. */
export class ProcessRoomAnswers implements RoomAnswers {
  readonly #options: RoomAnswersOptions
  readonly #slots = new Slots(LIMITS)
  readonly #running = new Map<number, Running>()
  readonly #timer: NodeJS.Timeout
  readonly #stopListening: () => void

  constructor(options: RoomAnswersOptions) {
    this.#options = options
    const told = (topic: string, content: unknown) => {
      if (topic === TOPIC) this.#end((content as { id: number }).id)
    }
    this.#stopListening = options.bus.subscribe({ changed() {}, interrupted() {}, told })
    const failed = (error: unknown) => options.log.warn({ error }, 'answers in rooms were not renewed')
    this.#timer = setInterval(() => void this.#renew().catch(failed), RENEWAL_MS).unref()
  }

  open(person: number): RoomAnswer {
    const slot = this.#slots.take(`${person}`)
    const controller = new AbortController()
    let isRunning = false
    const close = () => {
      controller.abort()
      slot[Symbol.dispose]()
    }
    return {
      signal: controller.signal,
      run: (id, work) => {
        isRunning = true
        const ended = work().finally(() => {
          this.#running.delete(id)
          close()
        })
        this.#running.set(id, { controller, ended })
      },
      [Symbol.dispose]: () => isRunning || close(),
    }
  }

  cancel(id: number): void {
    this.#end(id)
    this.#options.bus.tell(TOPIC, { id })
  }

  /** Ends all that run, and waits until they have said so. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopListening()
    const running = [...this.#running.values()]
    for (const { controller } of running) controller.abort()
    await Promise.all(running.map(({ ended }) => ended))
  }

  #end(id: number): void {
    this.#running.get(id)?.controller.abort()
  }

  /** Whatever has ended in the database, or is gone with its room, ends here. */
  async #renew(): Promise<void> {
    const ids = [...this.#running.keys()]
    if (ids.length === 0) return
    const going = new Set((await this.#options.sql(renewDisclosures, [ids, ANSWER_LEASE_MS])).map(({ id }) => id))
    for (const id of ids) if (!going.has(id)) this.#end(id)
  }
}
