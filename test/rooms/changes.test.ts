import { describe, expect, test } from 'vitest'
import { withChangeLog } from '../../routers/core/changes.ts'
import { createContext } from '../../routers/core/context.ts'
import { createApiClient, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

const PATH = '/users/me/actions/changes'

/** A person whose stream no other test writes to. */
async function newPerson() {
  const person = await svc.user({ abilities: ['read', 'write', 'user'] })
  const client = createApiClient(svc, person.token)
  const read = (after?: unknown) => client.get(after === undefined ? PATH : `${PATH}?page[after]=${after}`)
  return { ...person, client, read, write: (count: number) => write(person.id, count) }
}

/** Writes changes to the stream of a person, in one transaction. */
const write = (userId: number, count: number) =>
  withChangeLog(createContext(svc.services, { origin: 'host', requestId: 'test' }), async (_, changes) => {
    for (let n = 1; n <= count; n++) changes.add([`user:${userId}`], 'updated', 'rooms', n)
  })

const subjectsOf = ({ meta }: { meta: Record<string, unknown> }) =>
  (meta['changes'] as { subject: string }[]).map(({ subject }) => Number(subject))
const positionOf = ({ meta }: { meta: Record<string, unknown> }) => String(meta['position'])

test('everybody is told what administrators do with providers and models', async () => {
  const { admin } = svc
  const { one: provider } = await admin.create('ai-providers', { providerId: 'told', name: 'Told', adapter: 'demo' })
  const relations = { provider: toOne('ai-providers', provider.id) }
  const { one: model } = await admin.create('ai-models', { modelId: 'told', label: 'Told' }, relations)
  await admin.update('ai-models', model.id, { active: false })
  await admin.update('ai-providers', provider.id, { name: 'Other' })
  await admin.delete(`/ai-models/${model.id}`)
  const { one: second } = await admin.create('ai-models', { modelId: 'second', label: 'Second' }, relations)
  expect((await admin.delete(`/ai-providers/${provider.id}`)).status).toBe(200)

  const changes = await svc.rows<{ kind: string; subject: string }>(
    `select kind, subject from change_log where stream = 'all' and kind ~ '^ai-(models|providers)' order by seq`,
  )
  const [p, m, s] = [provider.id, model.id, second.id]
  expect(changes.map(({ kind, subject }) => `${kind} ${subject}`)).toEqual([
    `ai-providers.created ${p}`,
    `ai-models.created ${m}`,
    `ai-models.updated ${m}`,
    `ai-providers.updated ${p}`,
    `ai-models.deleted ${m}`,
    `ai-models.created ${s}`,
    `ai-providers.deleted ${p}`,
    `ai-models.deleted ${s}`,
  ])
})

describe('GET /users/me/actions/changes', () => {
  test('tells the position where a client begins, and nothing more', async () => {
    const { read, write } = await newPerson()

    expect(await read()).toMatchObject({
      status: 200,
      meta: { changes: [], position: expect.stringMatching(/^[0-9a-f]{12}:0$/), hasMore: false },
    })
    await write(3)
    expect(await read()).toMatchObject({ status: 200, meta: { changes: [], position: expect.stringMatching(/:3$/) } })
  })

  test('lists what has changed since a position, and then nothing', async () => {
    const { read, write } = await newPerson()
    const begin = await read()
    await write(2)

    const changed = await read(positionOf(begin))
    const unchanged = await read(positionOf(changed))

    expect(changed.meta['changes']).toEqual([
      { seq: 1, kind: 'rooms.updated', subject: '1', at: expect.stringMatching(/Z$/) },
      { seq: 2, kind: 'rooms.updated', subject: '2', at: expect.stringMatching(/Z$/) },
    ])
    expect(unchanged.meta).toEqual({ changes: [], position: positionOf(changed), hasMore: false })
  })

  test('lists 500 at most, and goes on from the position it tells', async () => {
    const { read, write } = await newPerson()
    const begin = positionOf(await read())
    await write(1100)

    const first = await read(begin)
    const second = await read(positionOf(first))
    const third = await read(positionOf(second))

    expect([first, second, third].map((page) => [subjectsOf(page).length, page.meta['hasMore']])).toEqual([
      [500, true],
      [500, true],
      [100, false],
    ])
    expect([first, second, third].flatMap(subjectsOf)).toEqual(Array.from({ length: 1100 }, (_, n) => n + 1))
  })

  test('shows nobody the stream of somebody else', async () => {
    const [one, other] = [await newPerson(), await newPerson()]
    const begin = positionOf(await other.read())
    await one.write(1)

    expect(subjectsOf(await other.read(begin))).toEqual([])
    expect((await svc.guest.get(PATH)).status).toBe(401)
  })

  test.for(['x', 'abc:1', '0123456789ab:', '0123456789ab:-1', '0123456789ab:1e3', '0123456789ab:9999999999999999', ''])(
    'refuses %j, which is no position, with 400',
    async (after) => {
      const { read } = await newPerson()
      const { status, errors } = await read(after)

      expect([status, errors[0]?.code, errors[0]?.source]).toEqual([400, 'invalid_page', { parameter: 'page[after]' }])
    },
  )

  test('takes no other parameter than page[after]', async () => {
    const { client } = await newPerson()

    expect((await client.get(`${PATH}?page[size]=5`)).status).toBe(400)
    expect((await client.get(`${PATH}?filter[x]=1`)).status).toBe(400)
  })
})

/** The error for an expired position, with the oldest usable one. */
async function refused(answer: ReturnType<Awaited<ReturnType<typeof newPerson>>['read']>): Promise<string> {
  const { status, errors } = await answer
  expect([status, errors[0]?.code]).toEqual([410, 'position_too_old'])
  return String((errors[0] as unknown as { meta: { position: string } }).meta.position)
}

describe('a position is too old', () => {
  test('when later changes have expired, and the refusal names the oldest usable one', async () => {
    const { id, read, write } = await newPerson()
    const begin = positionOf(await read())
    await write(5)
    await svc.rows('delete from change_log where stream = $1 and seq <= 2', [`user:${id}`])

    const position = await refused(read(begin))

    expect(position).toMatch(/:5$/)
    expect((await read(position)).meta['changes']).toEqual([])
    expect(subjectsOf(await read(begin.replace(/:0$/, ':2')))).toEqual([3, 4, 5])
    await svc.rows('delete from change_log where stream = $1', [`user:${id}`])
    await refused(read(begin.replace(/:0$/, ':2')))
  })

  test('when the stream has not come so far, as after a restore', async () => {
    const { id, read, write } = await newPerson()
    await write(5)
    const position = positionOf(await read())
    await svc.rows('delete from change_log where stream = $1 and seq > 3', [`user:${id}`])
    await svc.rows('update change_streams set seq = 3 where stream = $1', [`user:${id}`])

    expect(await refused(read(position))).toMatch(/:3$/)
  })

  test('once somebody says that the database was restored, whatever was written since', async () => {
    const { read, write } = await newPerson()
    await write(1)
    const before = positionOf(await read())

    await svc.host.changeLog.restored()
    await write(1)

    const position = await refused(read(before))
    expect(position.endsWith(':2')).toBe(true)
    expect(position.split(':')[0]).not.toBe(before.split(':')[0])
  })

  test('in a database that was restored from a dump', async () => {
    const { read, write } = await newPerson()
    await write(1)
    const before = positionOf(await read())

    // A restored dump creates its tables again.
    await svc.rows(`create table copied (like change_streams including all)`)
    await svc.rows('insert into copied select * from change_streams')
    await svc.rows('drop table change_streams')
    await svc.rows('alter table copied rename to change_streams')

    expect(await refused(read(before))).toMatch(/:1$/)
  })

  test('over tRPC, too, which tells the position beside the refusal', async () => {
    const { token, write } = await newPerson()
    await write(1)
    const input = encodeURIComponent(JSON.stringify({ page: { after: '000000000000:1' } }))

    const answer = await svc.send('GET', `/trpc/users.changesSince?input=${input}`, { token })

    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({
      error: { data: { problem: 'position_too_old', position: expect.stringMatching(/:1$/) } },
    })
  })
})

test('an ordinary role of PostgreSQL can read the epoch', async () => {
  const role = `plain_${crypto.randomUUID().slice(0, 8)}`
  await svc.rows(`create role ${role}`)
  try {
    const [row] = await svc.rows<{ system: boolean; wal: boolean }>(
      `select has_function_privilege($1, 'pg_control_system()', 'execute') as system,
              has_function_privilege($1, 'pg_walfile_name(pg_lsn)', 'execute')
                and has_function_privilege($1, 'pg_current_wal_lsn()', 'execute') as wal`,
      [role],
    )
    expect(row).toEqual({ system: true, wal: true })
  } finally {
    await svc.rows(`drop role ${role}`)
  }
})
