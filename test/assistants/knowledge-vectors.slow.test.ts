import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { embedsMeaning, readTexts, startWithEmbedder } from '../kit/ai/embedder.ts'
import { behavesInTurn, refuses, stalls } from '../kit/ai/provider.ts'
import { addKnowledge, callKnowledge } from '../kit/assistants/knowledge.ts'
import { UNTIL_READ } from '../kit/rooms/attachments.ts'
import { shareResource } from '../kit/share-resource.ts'

const shared = shareResource(startWithEmbedder)

/** Sums what calls of a person have cost. */
async function readCosts(userId: number) {
  await shared.svc.services.ai.usageLedger.flush()
  const [sums] = await shared.svc.rows<{ calls: number; micros: number }>(
    'select count(*)::int as calls, coalesce(sum(cost_micros), 0)::int as micros from usage_records where user_id = $1',
    [userId],
  )
  return sums
}

/** A text of so many passages, each with a heading and words of its own. */
const writeChapters = (count: number) =>
  Array.from(
    { length: count },
    (_, at) => `# Chapter ${at}\n\n${`The word${at} is told here at length. `.repeat(30)}`,
  ).join('\n\n')

test('a search by meaning finds a passage without words of the question', async () => {
  const owner = await addKnowledge(shared.svc)
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.upload('b.md', 'The physician comes at noon.')
  await owner.untilEmbedded()
  const before = await readCosts(owner.id)

  const [found] = await owner.search('automobile')
  expect(found?.file.path).toBe('a.md')
  expect((await owner.search('doctor'))[0]?.file.path).toBe('b.md')
  // Who asks pays, beside the two files.
  expect(before).toMatchObject({ calls: 2 })
  expect(before?.micros).toBeGreaterThan(0)
  expect(await readCosts(owner.id)).toMatchObject({ calls: 4 })
})

test('a token that may not ask models searches by words, at no cost', async () => {
  const owner = await addKnowledge(shared.svc)
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.untilEmbedded()
  const { token } = await shared.svc.host.tokens.createFor({
    user: { id: owner.id },
    name: 'reader',
    abilities: ['read'],
  })
  const search = async (query: string) =>
    (await callKnowledge(shared.svc, 'search', { id: owner.knowledge, query }, token)).data
  const before = await readCosts(owner.id)

  expect(await search('automobile')).toEqual([])
  expect(await search('garage')).toHaveLength(1)
  expect(await readCosts(owner.id)).toEqual(before)
})

test('a file of equal bytes makes no embedding call', async () => {
  const owner = await addKnowledge(shared.svc)
  await owner.upload('a.md', 'My car stands in the garage of equal bytes.')
  await owner.untilEmbedded()
  const calls = shared.listPassageRequests().length
  await owner.upload('a.md', 'My car stands in the garage of equal bytes.')
  await owner.upload('copy/b.md', 'My car stands in the garage of equal bytes.')
  await owner.untilEmbedded()

  expect(shared.listPassageRequests()).toHaveLength(calls)
  expect((await owner.search('vehicle')).map(({ file }) => file.path).toSorted()).toEqual(['a.md', 'copy/b.md'])
  // Bytes of others are embedded anew, as nobody is to learn that somebody has them.
  const other = await addKnowledge(shared.svc)
  await other.upload('a.md', 'My car stands in the garage of equal bytes.')
  await other.untilEmbedded()
  expect(shared.listPassageRequests()).toHaveLength(calls + 1)
})

test('equal bytes that are uploaded at the same moment are embedded once', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  const gate = Promise.withResolvers<void>()
  alone.upstream.behave = async (received, response) => {
    await gate.promise
    await embedsMeaning(received, response)
  }
  await Promise.all(['a.md', 'b.md'].map((path) => owner.upload(path, 'My car stands in the garage.')))
  await owner.untilRead()
  await expect.poll(() => alone.upstream.requests.length, UNTIL_READ).toBe(1)
  gate.resolve()
  await owner.untilEmbedded()

  expect(alone.listPassageRequests()).toHaveLength(1)
  expect((await owner.search('vehicle')).map(({ file }) => file.path).toSorted()).toEqual(['a.md', 'b.md'])
})

test('a deleted file leaves no row of knowledge and no stored bytes', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  await owner.upload('kept.md', 'My car stands in the garage.')
  await owner.untilEmbedded()
  /** All rows of all tables with texts or vectors, and the names of all stored files. */
  const readAll = async () => {
    const tables = await alone.svc.rows<{ name: string }>(
      `select distinct table_name as name from information_schema.columns where table_schema = 'public'
         and (table_name like 'knowledge%' or (data_type in ('bytea', 'tsvector') and table_name not like 'sync%')) order by 1`,
    )
    const rows: Record<string, number> = {}
    for (const { name } of tables)
      rows[name] = (await alone.svc.rows<{ n: number }>(`select count(*)::int as n from "${name}"`))[0]?.n ?? 0
    const { services, folder } = alone.svc
    const stored: string[] = []
    for await (const { name } of services.files.knowledge.list()) stored.push(name)
    const onDisk = (await readdir(join(folder, 'files'), { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    )
    return { rows, stored, onDisk: onDisk.map(({ name }) => name) }
  }
  const before = await readAll()
  expect(Object.keys(before.rows)).toEqual(
    expect.arrayContaining(['knowledge_embeddings', 'knowledge_passages', 'knowledge_terms', 'knowledge_vectors']),
  )
  await owner.upload('gone.md', writeChapters(40))
  await owner.untilEmbedded()
  const during = await readAll()
  expect(during.rows['knowledge_vectors']).toBeGreaterThan(before.rows['knowledge_vectors'] ?? 0)
  const gone = (await owner.files()).find(({ path }: { path: string }) => path === 'gone.md')
  expect((await owner.call('deleteFile', { id: owner.knowledge, file: gone.id })).status).toBe(200)

  await expect.poll(readAll, UNTIL_READ).toEqual(before)
  expect((await owner.search('word7')).map(({ file }) => file.path)).toEqual(['kept.md'])
})

test('an embedder that fails delays a file, which after an hour says so', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  alone.upstream.behave = refuses(429)
  await owner.upload('a.md', 'My car stands in the garage.')
  const readState = async () => (await owner.files())[0]
  await expect.poll(readState, UNTIL_READ).toMatchObject({ state: 'ready', embedding: { delay: 'provider' } })
  expect(await readState()).toMatchObject({ explanation: null, embedding: { state: 'pending', embedded: 0 } })
  expect(await owner.search('garage')).toHaveLength(1)
  await alone.svc.rows(`update knowledge_embeddings set delayed_since = now() - interval '61 minutes'`)
  expect(await readState()).toMatchObject({ explanation: expect.stringContaining('for more than an hour') })

  alone.upstream.behave = behavesInTurn(refuses(500), embedsMeaning)
  await owner.untilEmbedded()
  expect(await readState()).toMatchObject({
    explanation: null,
    embedding: { state: 'whole', embedded: 1, delay: null },
  })
  expect((await owner.search('automobile'))[0]?.file.path).toBe('a.md')
})

test('a cancelled file is gone, and nothing more of it is embedded', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  const [begun, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  alone.upstream.behave = async (received, response) => {
    begun.resolve()
    await resumed.promise
    await embedsMeaning(received, response)
  }
  const { data } = await owner.upload('a.md', writeChapters(80))
  await begun.promise
  expect((await owner.files())[0]).toMatchObject({ state: 'ready', embedding: { state: 'pending' } })
  expect((await owner.call('cancel', { id: owner.knowledge, file: data.id })).status).toBe(200)
  resumed.resolve()

  const listJobs = () =>
    alone.svc.rows(`select id from svc_jobs.job where name = 'embed-knowledge' and state <> 'completed'`)
  await expect.poll(listJobs, UNTIL_READ).toEqual([])
  expect(alone.listPassageRequests()).toHaveLength(1)
  expect(await owner.files()).toEqual([])
  expect(await alone.svc.rows('select from knowledge_vectors')).toEqual([])
  expect(await owner.search('word7')).toEqual([])
})

test('a limit without room delays a file until it has room', async () => {
  await using alone = await startWithEmbedder()
  const person = await alone.svc.user({ abilities: ['read', 'write', 'ai'] })
  const owner = await addKnowledge(alone.svc, 'Handbook', person)
  const limit = { name: 'no tokens', for: `user:${person.username}`, unit: 'tokens', per: 'day', cap: 0 }
  await alone.svc.host.limits.set(limit as never)
  await owner.upload('a.md', 'My car stands in the garage.')
  const readState = async () => (await owner.files())[0]?.embedding
  await expect.poll(readState, UNTIL_READ).toMatchObject({ state: 'pending', delay: 'limit' })
  expect(alone.upstream.requests).toEqual([])

  await alone.svc.host.limits.remove({ name: limit.name })
  await owner.untilEmbedded()
  expect(await owner.search('automobile')).toHaveLength(1)
})

test('no vector stands in the database in clear', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  // Each dimension of such a vector is packed into the same byte.
  alone.upstream.behave = async (received, response) => {
    const data = readTexts(received).map((_, index) => ({ index, embedding: Array(64).fill(0.5) }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
  }
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.untilEmbedded()
  expect(await alone.svc.rows('select from knowledge_vectors')).toHaveLength(1)

  const found = await alone.svc.rows(`select 1 from knowledge_vectors v where v::text like '%7f7f7f7f7f7f%'`)
  expect(found).toEqual([])
  expect(alone.svc.log.join('\n')).not.toContain('0.5,0.5')
})

test('vectors that cannot be searched delay a file, and words find it', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  alone.upstream.behave = async (received, response) => {
    const data = readTexts(received).map((_, index) => ({ index, embedding: Array(64).fill(0) }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
  }
  await owner.upload('a.md', 'My car stands in the garage.')
  const readState = async () => (await owner.files())[0]?.embedding
  await expect.poll(readState, UNTIL_READ).toMatchObject({ state: 'pending', delay: 'provider' })
  expect(await owner.search('garage')).toHaveLength(1)
})

test('unusable vectors, which are paid, are not asked for endlessly', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  const isLate = Promise.withResolvers<void>()
  alone.upstream.behave = async (received, response) => {
    await isLate.promise
    const data = readTexts(received).map((_, index) => ({ index, embedding: Array(300_000).fill(0.1) }))
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
  }
  await owner.upload('a.md', 'My car stands in the garage.')
  await expect.poll(() => alone.upstream.requests.length, UNTIL_READ).toBe(1)
  await alone.svc.rows('update knowledge_embeddings set attempts = 10')
  isLate.resolve()

  const readState = async () => (await owner.files())[0]
  await expect.poll(readState, UNTIL_READ).toMatchObject({
    embedding: { state: 'refused' },
    explanation: expect.stringContaining('found by its words alone'),
  })
  expect(await owner.search('garage')).toHaveLength(1)
})

test('a search goes by words while the embedder fails', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.untilEmbedded()
  alone.upstream.behave = refuses(500)

  expect(await owner.search('automobile')).toEqual([])
  expect(await owner.search('garage')).toHaveLength(1)
})

test('an embedder that hangs keeps one search waiting, and not those after it', async () => {
  await using alone = await startWithEmbedder()
  const owner = await addKnowledge(alone.svc)
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.untilEmbedded()
  alone.upstream.behave = stalls

  expect(await owner.search('garage')).toHaveLength(1)
  const asked = alone.upstream.requests.length
  expect(await owner.search('garage')).toHaveLength(1)
  expect(alone.upstream.requests).toHaveLength(asked)
  const warnings = alone.svc.log.filter((line) => line.includes('a search goes by words alone'))
  expect(warnings.map((line) => JSON.parse(line).problem)).toEqual(['TimeoutError'])
})

test('many searches of one person at the same moment all find their passage', async () => {
  const owner = await addKnowledge(shared.svc)
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.untilEmbedded()
  const found = await Promise.all(Array.from({ length: 24 }, () => owner.search('garage')))

  expect(found.map((hits) => hits.length)).toEqual(found.map(() => 1))
})
