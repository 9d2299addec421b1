import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, inject, onTestFinished, test, vi } from 'vitest'
import { withChangeLog } from '../../routers/core/changes.ts'
import { createContext } from '../../routers/core/context.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, openBrowser } from '../kit/browser.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import { createApiClient, startJsonApi } from '../kit/json-api/client.ts'
import { waitForLocks } from '../kit/locks.ts'
import { redisDatabaseUrl } from '../kit/parts/redis.ts'
import { openClient } from '../kit/postgres-client.ts'
import { createPerson, createRoom } from '../kit/rooms/messages.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { shareResource } from '../kit/share-resource.ts'

const redis = inject('redisUrl') ? { REDIS_URL: redisDatabaseUrl(7) } : {}

const svc = shareResource(() => startJsonApi({ DATABASE_POOL: '2', APP_KEY, ...redis }))

/** Writes changes to the stream of a person in one transaction. */
const write = ({ services }: TestApp, person: number, count: number) =>
  withChangeLog(createContext(services, { origin: 'host', requestId: 'test' }), async (_, changes) => {
    for (let n = 1; n <= count; n++) changes.add([`user:${person}`], 'updated', 'rooms', n)
  })

const follow = ({ url }: { url: string }, token: string, lastEventId?: string) =>
  RawSubscription.open({ url, path: 'users.changes', token, ...(lastEventId && { input: { lastEventId } }) })

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n)

test('idle subscriptions hold no connection to the database', async () => {
  const person = await createPerson(svc)
  const open = await Promise.all(range(1, 40).map(() => follow(svc, person.token)))
  await Promise.all(open.map((following) => following.waitForPosition()))

  const held = () =>
    svc.rows(
      `select query from pg_stat_activity
        where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`,
    )
  // A periodic task of the service briefly takes a connection.
  await expect.poll(held).toEqual([])
  await write(svc, person.id, 1)
  await Promise.all(open.map((following) => following.untilSeq(1)))

  for (const following of open) following.close()
})

test('a subscription whose buffer overflows ends, and its client resumes', async () => {
  const person = await createPerson(svc)
  const following = await follow(svc, person.token)
  await following.waitForPosition()
  await write(svc, person.id, 3)
  await following.untilSeq(3)

  await write(svc, person.id, 1500)
  expect(await following.ended).toBe('broken')

  const again = await follow(svc, person.token, following.ids.at(-1))
  await again.untilSeq(1503)
  expect([...following.seqs, ...again.seqs]).toEqual(range(1, 1503))
  again.close()
})

test('a client that reads nothing is hung up on', async () => {
  const person = await createPerson(svc)
  const count = () => svc.services.changes.subscriptions.count()
  await expect.poll(count).toBe(0)
  const socket = connect(Number(new URL(svc.url).port), '127.0.0.1').pause()
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(`GET /trpc/users.changes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${person.token}\r\n\r\n`)
  await expect.poll(count).toBe(1)

  for (let round = 0; round < 100 && count() > 0; round++) await write(svc, person.id, 900)

  await expect.poll(count).toBe(0)
  socket.destroy()
})

test('a client that leaves while it is authenticated leaves no subscription', async () => {
  const person = await createPerson(svc)
  const count = () => svc.services.changes.subscriptions.count()
  await expect.poll(count).toBe(0)
  const opening = vi.spyOn(svc.services.changes.subscriptions, 'open')
  onTestFinished(() => opening.mockRestore())
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query('lock table access_tokens in access exclusive mode')
  const socket = connect(Number(new URL(svc.url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`GET /trpc/users.changes HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${person.token}\r\n\r\n`)
  await waitForLocks(svc.env.DATABASE_URL)
  socket.destroy()
  await once(socket, 'close')

  await client.query('commit')

  await expect.poll(() => opening.mock.calls.length).toBe(1)
  await expect.poll(count).toBe(0)
})

test('a subscription ends with its session', async () => {
  await addAccount(svc, 'zoe', { known: true })
  const browser = openBrowser(svc.url)
  expect((await browser.login('zoe')).status).toBe(200)
  const cookie = [...browser.cookies].map((pair) => pair.join('=')).join('; ')
  const headers = { cookie, 'sec-fetch-site': 'same-origin' }
  const following = await RawSubscription.open({ url: svc.url, path: 'users.changes', headers })
  await following.waitForPosition()

  await browser.send('POST', '/logout')

  await following.ended
  expect(following.problem).toMatchObject({ problem: 'signed_out' })
})

/** Starts another replica of the installation, connected by Redis if there is one. */
const startReplica = () => startApp({ DATABASE_URL: String(svc.env.DATABASE_URL), APP_KEY, ...redis })

test('a removal and a revocation on one replica end subscriptions on the other', async () => {
  await using there = await startReplica()
  const here = svc
  const room = await createRoom(here, ['viewer', 'editor'])
  const open = (token: string) =>
    RawSubscription.open({ url: there.url, path: 'rooms.changes', input: { id: room.id }, token })
  const [removed, revoked] = [await open(room.viewer.token), await open(room.editor.token)]
  const begin = Number((await removed.waitForPosition()).split(':')[1])
  await revoked.waitForPosition()

  const [membership] = await here.rows<{ id: number }>(
    'select id from room_members where room_id = $1 and user_id = $2',
    [room.id, room.viewer.id],
  )
  await Promise.all([
    room.send(),
    createApiClient(here, room.admin.token).delete(`/room-members/${membership?.id}`),
    room.send(),
  ])
  await here.host.tokens.revokeFor({ user: { id: room.editor.id }, tokenId: await tokenOf(here, room.editor.id) })
  await Promise.all([removed.ended, revoked.ended])
  await room.send()

  const [removal] = await here.rows<{ seq: number }>(
    `select seq::int from change_log where stream = $1 and kind = 'room-members.deleted'`,
    [`room:${room.id}`],
  )
  expect(removed.seqs).toEqual(range(begin + 1, Number(removal?.seq) - 1))
  expect([removed.problem?.['problem'], revoked.problem?.['problem']]).toEqual(['not_found', 'signed_out'])
})

const tokenOf = async ({ rows }: TestApp, user: number) =>
  (await rows<{ id: number }>('select id from access_tokens where user_id = $1', [user]))[0]?.id ?? 0

test('a stopping replica closes its subscriptions, and clients resume at the other', async () => {
  await using one = await startReplica()
  const other = svc
  const person = await createPerson(svc)
  const following = await follow(one, person.token)
  await following.waitForPosition()
  await write(one, person.id, 2)
  await following.untilSeq(2)

  await one.stop()
  await write(other, person.id, 2)

  expect(await following.ended).toBe('closed')
  expect(following.events.map(({ event }) => event).filter((event) => event && event !== 'ping')).toEqual(['connected'])
  const again = await follow(other, person.token, following.ids.at(-1))
  await again.untilSeq(4)
  expect(again.seqs).toEqual([3, 4])
  again.close()
})
