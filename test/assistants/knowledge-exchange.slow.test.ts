import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import { embedsMeaning, readTexts, startWithEmbedder, writeEmbedderConfig } from '../kit/ai/embedder.ts'
import { refuses, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addKnowledge, callKnowledge, uploadKnowledge } from '../kit/assistants/knowledge.ts'
import { runCommand } from '../kit/command-line.ts'
import { cloneDatabase, createEmptyDatabase } from '../kit/database.ts'
import { UNTIL_READ } from '../kit/rooms/attachments.ts'
import { createDataFolder } from '../kit/service-process.ts'

const APP_KEY = 'the key of the installation that two replicas share for a while'

/** Sums what the installation has paid, in millionths. */
async function sumBills(svc: TestApp): Promise<number> {
  await svc.services.ai.usageLedger.flush()
  const [bill] = await svc.rows<{ micros: number }>(
    'select coalesce(sum(cost_micros), 0)::int as micros from usage_records where user_id = $1',
    [AI_USER_ID],
  )
  return bill?.micros ?? 0
}

test('the old vectors answer until the new ones are whole, at the shown price', async () => {
  await using world = await startWithEmbedder({ APP_KEY })
  const { svc: first, upstream } = world
  const owner = await addKnowledge(first)
  for (const word of ['car', 'physician', 'drizzle'])
    await owner.upload(`${word}.md`, `The ${word} of the town is praised by many visitors. `.repeat(120))
  await owner.untilEmbedded()
  const before = await owner.search('automobile')
  expect(before[0]?.file.path).toBe('car.md')

  const settings = { ...world.env, DATABASE_URL: first.env.DATABASE_URL ?? '', DATA_DIR: first.folder }
  await using second = await startApp({ ...settings, KNOWLEDGE_EMBEDDING_MODEL: 'new' })
  expect(second.log.join('\n')).toContain('svc knowledge rebuild')
  const gate = Promise.withResolvers<void>()
  upstream.behave = async (received, response) => {
    if (received.body.model === 'new') await gate.promise
    await embedsMeaning(received, response)
  }
  const { price } = await second.host.knowledge.index()
  const type = (...line: string[]) =>
    runCommand(['knowledge', ...line], { env: { ...settings, KNOWLEDGE_EMBEDDING_MODEL: 'new', DATABASE_POOL: '2' } })
  expect(JSON.parse((await type('index', '--json')).stdout)).toMatchObject({ active: { model: 'old' }, price })
  expect((await type('rebuild')).stderr).toContain('--yes')
  expect(JSON.parse((await type('rebuild', '--yes', '--json')).stdout)).toEqual({ planned: 3 })
  const search = async (query: string) =>
    (await callKnowledge(second, 'search', { id: owner.knowledge, query }, owner.token)).data
  expect(await search('automobile')).toEqual(before)
  expect(await owner.search('automobile')).toEqual(before)
  gate.resolve()

  const readModel = async () => (await second.host.knowledge.index()).active?.model
  await expect.poll(readModel, UNTIL_READ).toBe('new')
  for (const found of [await search('automobile'), await owner.search('automobile')])
    expect(found[0]?.file.path).toBe('car.md')
  expect(upstream.requests.at(-1)?.body.model).toBe('new')
  const paid = await sumBills(second)
  expect(Math.abs((price?.costMicros ?? 0) - paid)).toBeLessThanOrEqual(paid / 10)
  expect((await second.host.knowledge.index()).price).toBeNull()

  await second.rows(`update knowledge_indexes set retired_at = now() - interval '1 day' where state = 'retired'`)
  expect(await second.host.knowledge.deleteRetired()).toEqual({ deleted: 3 })
  expect(await search('automobile')).toHaveLength(8)
})

test('an index in which most files are refused is never searched', async () => {
  await using world = await startWithEmbedder({ APP_KEY })
  const { svc: first, upstream } = world
  const owner = await addKnowledge(first)
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.untilEmbedded()
  const settings = { ...world.env, DATABASE_URL: first.env.DATABASE_URL ?? '', DATA_DIR: first.folder }
  await using second = await startApp({ ...settings, KNOWLEDGE_EMBEDDING_MODEL: 'new' })
  upstream.behave = (received, response) =>
    received.body.model === 'new' ? refuses(400)(received, response) : embedsMeaning(received, response)
  await second.host.knowledge.rebuild()
  const readBuilt = async () => (await second.host.knowledge.index()).building?.files
  await expect.poll(readBuilt, UNTIL_READ).toMatchObject({ refused: 1 })
  expect((await second.host.knowledge.index()).active).toMatchObject({ model: 'old' })
  expect((await owner.search('automobile'))[0]?.file.path).toBe('a.md')

  upstream.behave = embedsMeaning
  await second.host.knowledge.rebuild()
  const readModel = async () => (await second.host.knowledge.index()).active?.model
  await expect.poll(readModel, UNTIL_READ).toBe('new')
})

test('the first model embeds knowledge that was searched by words before', async () => {
  await using database = await cloneDatabase()
  await using disk = await createDataFolder()
  const env = { APP_KEY, DATABASE_URL: database.url, DATA_DIR: disk.path }
  let owner: Awaited<ReturnType<typeof addKnowledge>>
  {
    await using before = await startApp(env)
    owner = await addKnowledge(before)
    await owner.upload('a.md', 'My car stands in the garage.')
    await owner.untilRead()
  }
  await using world = await startWithEmbedder(env)
  const search = async (query: string) =>
    (await callKnowledge(world.svc, 'search', { id: owner.knowledge, query }, owner.token)).data
  expect(world.upstream.requests).toEqual([])
  expect(await search('automobile')).toEqual([])
  expect(await world.svc.host.knowledge.rebuild()).toEqual({ planned: 1 })

  await expect.poll(() => search('automobile'), UNTIL_READ).toHaveLength(1)
})

test('embedding that is switched off sends no text, and goes on later', async () => {
  await using database = await cloneDatabase()
  await using disk = await createDataFolder()
  const env = { APP_KEY, DATABASE_URL: database.url, DATA_DIR: disk.path }
  let owner: Awaited<ReturnType<typeof addKnowledge>>
  {
    await using world = await startWithEmbedder(env)
    world.upstream.behave = refuses(429)
    owner = await addKnowledge(world.svc)
    await owner.upload('a.md', 'My car stands in the garage.')
    const readState = async () => (await owner.files())[0]?.embedding
    await expect.poll(readState, UNTIL_READ).toMatchObject({ delay: 'provider' })
  }
  await using upstream = await startProvider(embedsMeaning)
  await using config = await writeEmbedderConfig(upstream.url)
  {
    await using off = await startApp({ ...env, AI_CONFIG: config.file })
    const listJobs = () =>
      off.rows(`select id from svc_jobs.job where name = 'embed-knowledge' and state in ('created', 'retry', 'active')`)
    await expect.poll(listJobs, UNTIL_READ).toEqual([])
    const call = async (name: string, input: object) => (await callKnowledge(off, name, input, owner.token)).data
    expect(await call('files', { id: owner.knowledge })).toMatchObject({ files: [{ state: 'ready', embedding: null }] })
    expect(await call('list', {})).toMatchObject([{ embedding: 0 }])
    expect(await call('search', { id: owner.knowledge, query: 'garage' })).toHaveLength(1)
    await uploadKnowledge(off, { id: owner.knowledge, path: 'b.md' }, 'The physician comes at noon.', owner.token)
    const countReady = async () => (await call('list', {}))[0].files.ready
    await expect.poll(countReady, UNTIL_READ).toBe(2)
    expect(upstream.requests).toEqual([])
  }
  await using on = await startApp({ ...env, AI_CONFIG: config.file, KNOWLEDGE_EMBEDDING_MODEL: 'old' })
  // The file that was read meanwhile has no vectors before somebody is asked to pay for them.
  expect(on.log.join('\n')).toContain('svc knowledge rebuild')
  const search = async (query: string) =>
    (await callKnowledge(on, 'search', { id: owner.knowledge, query }, owner.token)).data
  expect(await on.host.knowledge.planLost()).toEqual({ planned: 1 })
  await expect.poll(() => search('automobile'), UNTIL_READ).toHaveLength(1)
  await on.host.knowledge.rebuild()
  await expect.poll(() => search('doctor'), UNTIL_READ).toHaveLength(2)
})

test('a file uploaded during an exchange is embedded before the older ones', async () => {
  await using database = await cloneDatabase()
  await using disk = await createDataFolder()
  const env = { APP_KEY, DATABASE_URL: database.url, DATA_DIR: disk.path }
  let owner: Awaited<ReturnType<typeof addKnowledge>>
  {
    await using world = await startWithEmbedder(env)
    owner = await addKnowledge(world.svc)
    for (let at = 0; at < 6; at++) await owner.upload(`${at}.md`, `The car of number ${at} stands in the garage.`)
    await owner.untilEmbedded()
  }
  await using world = await startWithEmbedder({ ...env, KNOWLEDGE_EMBEDDING_MODEL: 'new' })
  const gate = Promise.withResolvers<void>()
  world.upstream.behave = async (received, response) => {
    await gate.promise
    await embedsMeaning(received, response)
  }
  await world.svc.host.knowledge.rebuild()
  // Both workers are busy.
  await expect.poll(() => world.upstream.requests.length, UNTIL_READ).toBe(2)
  const input = { id: owner.knowledge, path: 'late.md' }
  await uploadKnowledge(world.svc, input, 'The physician comes at noon.', owner.token)
  const countReady = async () => (await callKnowledge(world.svc, 'list', {}, owner.token)).data[0].files.ready
  await expect.poll(countReady, UNTIL_READ).toBe(7)
  gate.resolve()

  await expect.poll(() => world.upstream.requests.length, UNTIL_READ).toBe(8)
  const late = world.upstream.requests.flatMap((request, at) =>
    readTexts(request).join().includes('physician') ? [at] : [],
  )
  expect(late).toEqual([2, 3])
})

test('a restored installation finds the same by meaning, and embeds nothing anew', async () => {
  await using world = await startWithEmbedder({ APP_KEY })
  const { svc, upstream } = world
  const owner = await addKnowledge(svc)
  await owner.upload('a.md', 'My car stands in the garage.')
  await owner.upload('b.md', 'The physician comes at noon.')
  await owner.untilEmbedded()
  const before = await owner.search('automobile')
  const folder = await mkdtemp(join(tmpdir(), 'svc-vectors-'))
  try {
    const settings = {
      ...world.env,
      DATABASE_URL: svc.env.DATABASE_URL ?? '',
      DATA_DIR: svc.folder,
      DATABASE_POOL: '2',
    }
    const copied = await runCommand(['backup', 'create', join(folder, 'copy')], { env: settings })
    expect(copied).toMatchObject({ exitCode: 0, stderr: '' })
    await using database = await createEmptyDatabase()
    const env = { ...world.env, DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(folder, 'data-')) }
    const restored = await runCommand(['backup', 'restore', join(folder, 'copy')], {
      env: { ...env, DATABASE_POOL: '2' },
    })
    expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
    upstream.requests.length = 0
    await using again = await startApp(env)
    const found = await callKnowledge(again, 'search', { id: owner.knowledge, query: 'automobile' }, owner.token)
    expect(found.data).toEqual(before)
    expect(world.listPassageRequests()).toEqual([])
  } finally {
    await rm(folder, { recursive: true })
  }
})
