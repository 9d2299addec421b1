// @module-tag debian

import { describe, expect, test } from 'vitest'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { ChangeRecorder, Stream } from '../../routers/core/change-recorder.ts'
import { withChangeLog } from '../../routers/core/changes.ts'
import { createContext } from '../../routers/core/context.ts'
import { startApp } from '../kit/app.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)

/** Runs work in a transaction on the host. */
const change = <T>(work: (changes: ChangeRecorder) => Promise<T>) =>
  withChangeLog(createContext(svc.services, { origin: 'host', requestId: 'test' }), (_, changes) => work(changes))

/** Streams that no other test writes to. */
let room = 1000
const newStream = (): Stream => `room:${++room}`

const logOf = (stream: Stream) =>
  svc.rows<{ seq: number; kind: string; subject: string }>(
    'select seq::int as seq, kind, subject from change_log where stream = $1 order by seq',
    [stream],
  )

/** Returns the messages of the bus during the work. */
async function publishedBy(work: () => Promise<unknown>): Promise<LoggedChange[]> {
  const published: LoggedChange[] = []
  const stop = svc.services.changes.bus.subscribe({
    onChanges: (changes) => void published.push(...changes),
    onInterruption: () => {},
  })
  await work().finally(stop)
  return published
}

describe('the change log', () => {
  test('numbers the changes of each stream from 1 in commit order', async () => {
    const [one, other] = [newStream(), newStream()]

    await change(async (changes) => {
      changes.add([one], 'created', 'things', 7)
      changes.add([one, other], 'updated', 'things', 7)
    })
    await change(async (changes) => changes.add([one], 'deleted', 'things', 7))

    expect(await logOf(one)).toEqual([
      { seq: 1, kind: 'things.created', subject: '7' },
      { seq: 2, kind: 'things.updated', subject: '7' },
      { seq: 3, kind: 'things.deleted', subject: '7' },
    ])
    expect(await logOf(other)).toEqual([{ seq: 1, kind: 'things.updated', subject: '7' }])
  })

  test('has no gaps or duplicate numbers under concurrent transactions', async () => {
    const streams = [newStream(), newStream(), newStream()] as const
    const orders = [streams, streams.toReversed(), [streams[1], streams[0], streams[2]]]

    await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        change(async (changes) => changes.add(orders[n % 3] ?? [], 'updated', 'things', n)),
      ),
    )

    for (const stream of streams) {
      const logged = await logOf(stream)
      expect(logged.map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
      expect(new Set(logged.map(({ subject }) => subject)).size).toBe(30)
    }
  })

  test('and the bus know nothing of a transaction that was rolled back', async () => {
    const stream = newStream()
    const failing = () =>
      change(async (changes) => {
        changes.add([stream], 'created', 'things', 1)
        throw new Error('no')
      })

    const published = await publishedBy(() => expect(failing()).rejects.toThrow('no'))

    expect([published, await logOf(stream)]).toEqual([[], []])
  })

  test('is written before the bus carries the rows with stream, epoch and number', async () => {
    const stream = newStream()
    const published = await publishedBy(() => change(async (changes) => changes.add([stream], 'created', 'things', 1)))

    expect(published).toEqual([
      {
        stream,
        seq: 1,
        kind: 'things.created',
        subject: '1',
        number: null,
        status: null,
        epoch: expect.stringMatching(/^[0-9a-f]{12}$/),
        at: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ])
    expect(await logOf(stream)).toHaveLength(1)
  })
})

test('streams of deleted rooms and people are removed after their last change expires', async () => {
  const ended = `room:${++room}` as const
  const person = await svc.user()
  const own = `user:${person.id}` as const
  await change(async (changes) => changes.add([ended, own], 'updated', 'things', 1))
  const forget = () => svc.periodicTasks.find(({ name }) => name === 'ended streams')?.run(new AbortController().signal)
  const streams = async () =>
    (
      await svc.rows<{ stream: string }>('select stream from change_streams where stream = any($1)', [[ended, own]])
    ).map(({ stream }) => stream)

  await forget()
  expect(await streams()).toHaveLength(2)
  await svc.rows('delete from change_log where stream = any($1)', [[ended, own]])
  await forget()

  expect(await streams()).toEqual([own])
})
