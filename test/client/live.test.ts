import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Change, type Changes, follow, type Listener, StreamEnded } from '../../facades/client/live/index.ts'

/** A service with a stream of changes, over a connection that may lose, repeat and reorder everything. */
class Unreliable {
  epoch = 0
  log: Change[] = []
  /** Number of the last change that the log has forgotten. */
  forgotten = 0
  state = new Map<string, number>()
  #saved = { state: new Map<string, number>(), seq: 0 }
  #listener: Listener | undefined
  #underWay: [position: string, change: Change][] = []
  /** Number of the next calls that fail. */
  failing = 0

  readonly transport = {
    listen: (listener: Listener) => {
      this.#listener = listener
      return () => {
        this.#listener = undefined
      }
    },
  }

  get seq(): number {
    return this.log.at(-1)?.seq ?? this.forgotten
  }

  get position(): string {
    return `e${this.epoch}:${this.seq}`
  }

  write(subject: string): void {
    const change = { seq: this.seq + 1, kind: 'things.updated', subject, at: '' }
    this.log.push(change)
    this.state.set(subject, (this.state.get(subject) ?? 0) + 1)
    this.#underWay.push([this.position, change])
  }

  deliver(which: number, { keep = false } = {}): void {
    if (this.#underWay.length === 0) return
    const index = which % this.#underWay.length
    const [found] = keep ? this.#underWay.slice(index, index + 1) : this.#underWay.splice(index, 1)
    if (found) this.#listener?.changed(...found)
  }

  lose(which: number): void {
    if (this.#underWay.length > 0) this.#underWay.splice(which % this.#underWay.length, 1)
  }

  reconnect(): void {
    this.#underWay = []
    this.#listener?.subscribed(this.position)
  }

  forget(): void {
    this.forgotten = this.seq
    this.log = []
  }

  save(): void {
    this.#saved = { state: new Map(this.state), seq: this.seq }
  }

  /** Restores the saved state, after which the service assigns the same sequence numbers again. */
  restore(): void {
    this.state = new Map(this.#saved.state)
    this.log = []
    this.forgotten = this.#saved.seq
    this.epoch += 1
  }

  /** Answers a call after a moment, or fails it. */
  async answer<T>(find: () => T): Promise<T> {
    await moment()
    const found = find()
    await moment()
    if (this.failing > 0) {
      this.failing -= 1
      throw new Error('no answer')
    }
    return found
  }

  changesSince = (after: string): Promise<Changes | { beginAt: string }> =>
    this.answer(() => {
      const [epoch, seq] = after.split(':')
      const isKnown = epoch === `e${this.epoch}` && Number(seq) >= this.forgotten && Number(seq) <= this.seq
      if (!isKnown) return { beginAt: this.position }
      const behind = this.log.filter((change) => change.seq > Number(seq))
      const changes = behind.slice(0, 3)
      return { changes, position: `${epoch}:${changes.at(-1)?.seq ?? seq}`, hasMore: behind.length > 3 }
    })
}

const moment = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Follows a service as a front end does, and records the order in which changes were applied. */
function followService(service: Unreliable) {
  let known = new Map<string, number>()
  const applied: (number | 'read')[] = []
  const live = follow({
    transport: service.transport,
    changesSince: service.changesSince,
    async read() {
      known = await service.answer(() => new Map(service.state))
      applied.push('read')
    },
    async apply({ seq, subject }) {
      const value = await service.answer(() => service.state.get(subject))
      if (value === undefined) known.delete(subject)
      else known.set(subject, value)
      applied.push(seq)
    },
    retryDelay: () => 0,
  })
  return { live, applied, known: () => known }
}

const number = fc.nat(20)
const subject = fc.constantFrom('a', 'b', 'c')
const step = fc.oneof(
  { weight: 6, arbitrary: subject.map((name) => ({ write: name })) },
  { weight: 5, arbitrary: number.map((which) => ({ deliver: which })) },
  { weight: 2, arbitrary: number.map((which) => ({ repeat: which })) },
  { weight: 2, arbitrary: number.map((which) => ({ lose: which })) },
  { weight: 3, arbitrary: fc.nat(4).map((turns) => ({ wait: turns })) },
  { weight: 1, arbitrary: fc.nat(2).map((calls) => ({ fail: calls })) },
  { weight: 1, arbitrary: fc.constantFrom('reconnect', 'forget', 'save', 'restore').map((name) => ({ name })) },
)

type Step = Partial<Record<'deliver' | 'repeat' | 'lose' | 'wait' | 'fail', number>> & { write?: string; name?: string }

async function play(service: Unreliable, { write, deliver, repeat, lose, wait = 0, fail, name }: Step): Promise<void> {
  if (write) service.write(write)
  if (deliver !== undefined) service.deliver(deliver)
  if (repeat !== undefined) service.deliver(repeat, { keep: true })
  if (lose !== undefined) service.lose(lose)
  if (fail) service.failing = fail
  if (name === 'reconnect' || name === 'forget' || name === 'save' || name === 'restore') service[name]()
  for (let turn = 0; turn < wait; turn++) await moment()
}

/** Expects that between two reads each change was applied exactly once and in order. */
function expectInOrder(applied: readonly (number | 'read')[]): void {
  expect(applied[0]).toBe('read')
  applied.forEach((one, index) => {
    const before = applied[index - 1]
    if (typeof one === 'number' && typeof before === 'number') expect(one).toBe(before + 1)
  })
}

describe('following a stream', () => {
  test('ends with what a fresh read shows after any loss, repetition or reordering', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const service = new Unreliable()
        service.write('a')
        const { live, applied, known } = followService(service)
        service.reconnect()
        for (const one of steps) await play(service, one)

        service.reconnect()
        await live.whenCurrent()

        expect(live.position).toBe(service.position)
        expect([...known()].toSorted()).toEqual([...service.state].toSorted())
        expectInOrder(applied)
        live.stop()
      }),
      { numRuns: 1000 },
    )
  })

  test('reads nothing again, and asks for nothing, while nothing is missing', async () => {
    const service = new Unreliable()
    const { live, applied } = followService(service)
    service.reconnect()
    await live.whenCurrent()
    service.changesSince = () => Promise.reject(new StreamEnded('unexpected'))

    for (let n = 0; n < 50; n++) service.write('a')
    for (let n = 0; n < 50; n++) service.deliver(n * 7)

    await expect.poll(() => applied.length).toBe(51)
    expect(applied).toEqual(['read', ...Array.from({ length: 50 }, (_, n) => n + 1)])
    live.stop()
  })

  test('applies what comes while it reads, after the read', async () => {
    const service = new Unreliable()
    const { live, applied, known } = followService(service)
    service.reconnect()
    await moment()

    service.write('a')
    service.deliver(0)

    await expect.poll(() => live.isCurrent).toBe(true)
    expect([applied, [...known()]]).toEqual([['read', 1], [['a', 1]]])
    live.stop()
  })

  test('asks again when more changes arrive while it catches up', async () => {
    const service = new Unreliable()
    const { changesSince } = service
    let isFirst = true
    service.changesSince = async (after) => {
      const found = await changesSince(after)
      if (isFirst) for (const _ of ['lost', 'heard']) service.write('a')
      if (isFirst) service.deliver(2)
      isFirst = false
      return found
    }
    const { live, applied } = followService(service)
    service.reconnect()
    await live.whenCurrent()

    service.write('a')
    service.write('a')
    service.deliver(1)

    await expect.poll(() => live.position).toBe('e0:4')
    expect(applied).toEqual(['read', 1, 2, 3, 4])
    live.stop()
  })

  test('ends where the service reports that the stream has ended', async () => {
    const service = new Unreliable()
    const reasons: string[] = []
    const live = follow({
      transport: service.transport,
      changesSince: () => Promise.reject(new StreamEnded('not_found')),
      read: () => {},
      apply: () => {},
      ended: ({ code }) => reasons.push(code),
    })
    service.reconnect()
    await live.whenCurrent()

    service.write('a')
    service.write('a')
    service.deliver(1)

    await live.whenCurrent()
    expect(reasons).toEqual(['not_found'])
  })

  test('gets no change once it has stopped', async () => {
    const service = new Unreliable()
    const { live, applied } = followService(service)
    service.reconnect()
    await live.whenCurrent()

    live.stop()
    service.write('a')
    service.deliver(0)
    service.reconnect()

    await moment()
    await moment()
    expect(applied).toEqual(['read'])
  })
})
