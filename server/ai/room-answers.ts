import DataLoader from 'dataloader'
import { renewDisclosures } from '../../entities/rooms/room-disclosure.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { InFlightLimiter } from '../../routers/core/load/concurrency.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { ChangeStreams } from '../../routers/ports/change-streams.ts'
import type { Log } from '../../routers/ports/log.ts'
import {
  ANSWER_LEASE_MS,
  type AnswerDisclosure,
  type RoomAnswer,
  type RoomAnswers,
} from '../../routers/ports/room-answers.ts'
import { findCurrentSpan, recordWork } from '../../routers/ports/traces.ts'

const RENEWAL_MS = 10_000
/** Maximum number of answers that run at the same time. */
const LIMITS = { perKey: 4, inAll: 100 }

interface RoomAnswersOptions {
  sql: Sql
  changeStreams: ChangeStreams
  log: Log
}

interface RunningAnswer {
  controller: AbortController
  ended: Promise<void>
}

/**
 * Answers in rooms that this process generates. It renews their leases in the database and ends an answer that has lost
 * its lease. It checks regularly, and after each change of the room that may end the answer, on any replica.
 */
export class ProcessRoomAnswers implements RoomAnswers {
  readonly #options: RoomAnswersOptions
  readonly #slots = new InFlightLimiter(LIMITS)
  readonly #running = new Map<number, RunningAnswer>()
  readonly #timer: NodeJS.Timeout
  readonly #isActive: DataLoader<number, boolean>

  constructor(options: RoomAnswersOptions) {
    this.#options = options
    this.#isActive = new DataLoader((ids) => renewLeases(options.sql, ids), {
      cache: false,
      batchScheduleFn: setImmediate,
    })
    this.#timer = setInterval(() => [...this.#running.keys()].forEach(this.#check), RENEWAL_MS).unref()
  }

  open(person: number): RoomAnswer {
    const slot = this.#slots.acquire(`${person}`)
    const controller = new AbortController()
    let isRunning = false
    const close = () => {
      controller.abort()
      slot[Symbol.dispose]()
    }
    return {
      signal: controller.signal,
      run: (disclosure, work) => {
        isRunning = true
        const stop = this.#follow(disclosure)
        const ended = recordWork(findCurrentSpan()?.beginLinked('answer in a room'), work).finally(() => {
          this.#running.delete(disclosure.id)
          stop()
          close()
        })
        this.#running.set(disclosure.id, { controller, ended })
      },
      [Symbol.dispose]: () => isRunning || close(),
    }
  }

  /** Aborts all answers and waits until they have recorded their end. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    const running = [...this.#running.values()]
    for (const { controller } of running) controller.abort()
    await Promise.all(running.map(({ ended }) => ended))
  }

  /**
   * Checks an answer after each change that may end it, and once the subscription starts. Returns a function that
   * unsubscribes.
   */
  #follow({ id, room, member }: AnswerDisclosure): () => void {
    const ends = [
      `room-members.deleted ${member}`,
      `room-members.updated ${member}`,
      `room-disclosures.updated ${id}`,
      `rooms.deleted ${room}`,
    ]
    const check = () => this.#check(id)
    const subscription = this.#options.changeStreams.follow(`room:${room}`, {
      onChange: ({ kind, subject }) => ends.includes(`${kind} ${subject}`) && check(),
      onPositionLost: check,
    })
    // Without the subscription, the answer is still checked at each renewal.
    subscription.then(check, (error: unknown) => this.#logFailure(error))
    return () => void subscription.then(({ stop }) => stop()).catch(() => {})
  }

  /**
   * Aborts an answer that has ended in the database, whose author may no longer write in the room, or whose room is
   * gone.
   */
  readonly #check = (id: number): void => {
    const end = (isActive: boolean) => {
      if (!isActive) this.#running.get(id)?.controller.abort(new Problem('not_permitted'))
    }
    this.#isActive.load(id).then(end, (error: unknown) => this.#logFailure(error))
  }

  #logFailure(error: unknown): void {
    this.#options.log.warn({ error }, 'an answer in a room was not renewed')
  }
}

async function renewLeases(sql: Sql, ids: readonly number[]): Promise<boolean[]> {
  const active = new Set((await sql(renewDisclosures, [ids, ANSWER_LEASE_MS])).map(({ id }) => id))
  return ids.map((id) => active.has(id))
}
