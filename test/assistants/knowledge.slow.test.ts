import { createHash } from 'node:crypto'
import { expect, inject, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addKnowledge, callKnowledge, uploadKnowledge } from '../kit/assistants/knowledge.ts'
import { whileChanging } from '../kit/locks.ts'
import { redisDatabaseUrl, watchRedis } from '../kit/parts/redis.ts'
import { PNG, UNTIL_READ } from '../kit/rooms/attachments.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)

const computeHash = (text: string) => createHash('sha256').update(text).digest('hex')

const handbook = `# Library

## Opening hours

The reading room opens at eight and closes at ten in the evening.

## Fees

| Course | Fee |
|---|---|
| Pottery | 40 euros |
| Latin | 25 euros |
`

test('a search finds a passage with its headings and its place in the text', async () => {
  const owner = await addKnowledge(svc)
  expect(await owner.upload('rules/library.md', handbook)).toMatchObject({
    status: 200,
    data: { state: 'waiting', isNew: true },
  })
  await owner.untilRead()

  const [hours] = await owner.search('When does the library close?')
  expect(hours).toMatchObject({ file: { path: 'rules/library.md' }, page: null })
  expect(handbook.slice(hours?.from, hours?.to)).toBe(hours?.text)
  const [fee] = await owner.search('pottery fee')
  expect(fee).toMatchObject({ headings: ['Library', 'Fees'], text: expect.stringContaining('| Course | Fee |') })
  expect(await owner.search('zeppelin')).toEqual([])
})

test('a search in a PDF names the page', async () => {
  const owner = await addKnowledge(svc)
  const filler = 'Nothing of interest stands on this long page about other matters. '.repeat(40)
  await owner.upload('report.pdf', makePdf({ lines: [filler, `The budget of the observatory doubled. ${filler}`] }))
  await owner.untilRead()

  const [found] = await owner.search('budget of the observatory')
  expect(found).toMatchObject({ page: 2, text: expect.stringContaining('observatory') })
})

test('a scanned PDF says how many of its pages have no text', async () => {
  const owner = await addKnowledge(svc)
  await owner.upload('scan.pdf', makePdf({ lines: Array(12).fill('') }))
  await owner.untilRead()

  expect(await owner.files()).toMatchObject([
    { state: 'failed', failure: 'no-text', explanation: '12 of 12 pages have no text.' },
  ])
})

test('a question in German finds a compound by its part', async () => {
  const owner = await addKnowledge(svc)
  await owner.upload(
    'a.md',
    'Die Semesterbeitragsordnung gilt für alle, die an der Hochschule eingeschrieben sind, und wird jedes Jahr erneuert.',
  )
  await owner.upload(
    'b.md',
    'Die Mensa hat am Mittag geöffnet, und es gibt dort für alle etwas zu essen und zu trinken.',
  )
  await owner.untilRead()

  expect((await owner.search('Wie hoch ist der Beitrag?')).map(({ file }) => file.path)).toEqual(['a.md'])
})

test('files of other knowledge with the exact words change neither result nor order', async () => {
  const owner = await addKnowledge(svc)
  await owner.upload('a.md', 'The observatory looks at comets every night, and the observatory sleeps by day.')
  await owner.upload('b.md', 'Comets are rare, said the keeper of the observatory.')
  await owner.untilRead()
  const query = 'comets of the observatory'
  const before = await owner.search(query, 50)
  expect(before).toHaveLength(2)

  const others = [await addKnowledge(svc, 'Other', owner), await addKnowledge(svc)]
  for (const { knowledge } of others)
    await svc.rows(
      `with copied as (
         insert into knowledge_files (knowledge_id, path, uuid, mime, bytes, fingerprint, sealed_key, state, language, passages, tokens, truncated, notes)
         select $2::int, n || f.path, gen_random_uuid(), f.mime, f.bytes, f.fingerprint, f.sealed_key, f.state, f.language, f.passages, f.tokens, f.truncated, f.notes
           from knowledge_files f, generate_series(1, 500) n where f.knowledge_id = $1 returning id, path
       ), words as (
         insert into knowledge_terms (file_id, sealed)
         select c.id, t.sealed from copied c join knowledge_files f on f.knowledge_id = $1 and c.path like '%' || f.path
           join knowledge_terms t on t.file_id = f.id
       )
       insert into knowledge_passages (file_id, ordinal, from_offset, to_offset, page, sealed)
       select c.id, p.ordinal, p.from_offset, p.to_offset, p.page, p.sealed
         from copied c join knowledge_files f on f.knowledge_id = $1 and c.path like '%' || f.path
         join knowledge_passages p on p.file_id = f.id`,
      [owner.knowledge, knowledge],
    )
  // The others are searchable by the same words.
  for (const other of others) expect(await other.search(query, 50)).toHaveLength(50)
  await svc.rows('update knowledge set version = version + 1 where id = $1', [owner.knowledge])
  expect(await owner.search(query, 50)).toEqual(before)
})

test('knowledge of others and knowledge that never was are answered alike', async () => {
  const [owner, stranger] = [await addKnowledge(svc), await addKnowledge(svc)]
  const { data } = await owner.upload('a.md', 'Some text.')
  const refuse = async (id: number, token?: string) => [
    await callKnowledge(svc, 'files', { id }, token),
    await callKnowledge(svc, 'files', { id, offset: 10 }, token),
    await callKnowledge(svc, 'search', { id, query: 'text' }, token),
    await callKnowledge(svc, 'compare', { id, files: [{ path: 'a.md', sha256: computeHash('Some text.') }] }, token),
    await callKnowledge(svc, 'cancel', { id, file: data.id }, token),
    await callKnowledge(svc, 'deleteFile', { id, file: data.id }, token),
    await callKnowledge(svc, 'delete', { id }, token),
    await uploadKnowledge(svc, { id, path: 'b.md' }, 'text', token),
  ]

  const refused = await refuse(owner.knowledge, stranger.token)
  expect(refused).toEqual(await refuse(2_000_000_000, stranger.token))
  expect(refused.map(({ status }) => status)).toEqual(Array(8).fill(404))
  const guest = await refuse(owner.knowledge)
  expect(guest.map(({ problem }) => problem)).toEqual(Array(8).fill('signed_out'))
  const admin = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  expect(await refuse(owner.knowledge, admin.token)).toEqual(refused)
  expect((await stranger.call('list')).data).toMatchObject([{ id: stranger.knowledge, files: { waiting: 0 } }])
  // A file of another knowledge of one's own is not reached by its id either.
  expect((await stranger.call('deleteFile', { id: stranger.knowledge, file: data.id })).status).toBe(404)
  expect(await owner.files()).toHaveLength(1)
})

test('a replaced file is found until its successor is read, and never afterwards', async () => {
  const owner = await addKnowledge(svc)
  const first = await owner.upload('a.md', 'The answer is a walrus.')
  await owner.untilRead()
  expect(await owner.search('walrus')).toHaveLength(1)
  expect(await owner.upload('a.md', 'The answer is a walrus.')).toMatchObject({
    data: { id: first.data.id, state: 'ready', isNew: false },
  })
  await owner.upload('a.md', 'The answer is a pelican.')
  await owner.untilRead()

  expect(await owner.search('walrus')).toEqual([])
  expect(await owner.search('pelican')).toHaveLength(1)
  expect(await owner.files()).toMatchObject([{ path: 'a.md', state: 'ready' }])
  await owner.call('deleteFile', { id: owner.knowledge, file: (await owner.files())[0].id })
  expect(await owner.search('pelican')).toEqual([])
})

/** Holds the text of the next file that is read until it resumes. */
function holdReading({ services }: TestApp) {
  const [begun, resumed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { textExtractor } = services.files
  const extract = textExtractor.extract.bind(textExtractor)
  textExtractor.extract = async (...file) => {
    const extracted = await extract(...file)
    begun.resolve()
    await resumed.promise
    return extracted
  }
  return { begun: begun.promise, resume: resumed.resolve }
}

/** Waits until all jobs are completed, at the first try. */
async function untilJobsEnd(app: TestApp) {
  const listRunning = () =>
    app.rows(`select id from svc_jobs.job where name = 'read-knowledge' and state <> 'completed'`)
  await expect.poll(listRunning, UNTIL_READ).toEqual([])
  expect(await app.rows(`select id from svc_jobs.job where name = 'read-knowledge' and retry_count > 0`)).toEqual([])
}

test('a file cancelled while its passages are stored does not fail the job', async () => {
  await using alone = await startApp()
  const owner = await addKnowledge(alone)
  const reading = holdReading(alone)
  await owner.upload('a.md', 'A text that is cancelled.')
  await reading.begun
  await whileChanging(alone, 'select id from knowledge for update; delete from knowledge_files', async () => {
    reading.resume()
  })

  await untilJobsEnd(alone)
  expect(await owner.files()).toEqual([])
})

test('a cancelled or deleted file leaves no row and no stored bytes', async () => {
  await using alone = await startApp()
  const owner = await addKnowledge(alone)
  await owner.upload('a.md', 'A text that is read.')
  await owner.untilRead()
  const reading = holdReading(alone)
  const { data } = await owner.upload('b.md', 'A text that is cancelled.')
  await reading.begun
  expect((await owner.call('cancel', { id: owner.knowledge, file: data.id })).status).toBe(200)
  reading.resume()
  await untilJobsEnd(alone)
  expect((await owner.files()).map(({ path }: { path: string }) => path)).toEqual(['a.md'])
  await owner.call('delete', { id: owner.knowledge })

  const countRows = async () => {
    const tables = ['knowledge', 'knowledge_files', 'knowledge_terms', 'knowledge_passages']
    const counts = await Promise.all(
      tables.map((table) => alone.rows<{ n: number }>(`select count(*)::int as n from ${table}`)),
    )
    return counts.flat().map(({ n }) => n)
  }
  await expect.poll(countRows, UNTIL_READ).toEqual([0, 0, 0, 0])
  const stored: string[] = []
  for await (const { name } of alone.services.files.knowledge.list()) stored.push(name)
  expect(stored).toEqual([])
})

test('a program learns which files are new, changed, or unreadable as they are', async () => {
  const owner = await addKnowledge(svc)
  await owner.upload('a.md', 'The first text.')
  await owner.upload('b.md', 'The second text.')
  await owner.upload('scan.pdf', '%PDF-1.4 nothing')
  await owner.untilRead()
  const compare = async (files: Record<string, string>) => {
    const hashed = Object.entries(files).map(([path, text]) => ({ path, sha256: computeHash(text) }))
    return (await owner.call('compare', { id: owner.knowledge, files: hashed })).data
  }

  const scan = '%PDF-1.4 nothing'
  expect(
    await compare({ 'c.md': 'Some text.', 'b.md': 'Another text.', 'a.md': 'The first text.', 'scan.pdf': scan }),
  ).toEqual([
    { path: 'c.md', state: 'new', explanation: null },
    { path: 'b.md', state: 'changed', explanation: null },
    { path: 'a.md', state: 'equal', explanation: null },
    { path: 'scan.pdf', state: 'unreadable', explanation: 'The file is damaged, or is no file of this kind.' },
  ])
  await svc.rows(`update knowledge_files set failure = 'full' where path = 'scan.pdf' and knowledge_id = $1`, [
    owner.knowledge,
  ])
  expect(await compare({ 'scan.pdf': scan })).toMatchObject([{ state: 'changed' }])
  const wrong = await owner.call('compare', { id: owner.knowledge, files: [{ path: '../a.md', sha256: 'AB' }] })
  expect([wrong.status, wrong.issues?.map(({ path }) => path)]).toEqual([
    400,
    [
      ['files', 0, 'path'],
      ['files', 0, 'sha256'],
    ],
  ])
})

test('a person at the quota replaces a file, and adds none', async () => {
  await using small = await startApp({ KNOWLEDGE_QUOTA: '100', KNOWLEDGE_QUOTA_FILES: '2' })
  const owner = await addKnowledge(small)
  const text = (length: number, word: string) => word.padEnd(length, '.')
  expect((await owner.upload('a.md', text(60, 'walrus'))).status).toBe(200)
  expect((await owner.upload('b.md', text(41, 'pelican'))).problem).toBe('quota_reached')
  expect((await owner.upload('b.md', text(40, 'pelican'))).status).toBe(200)
  expect((await owner.upload('c.md', 'c')).problem).toBe('quota_reached')
  await owner.untilRead()

  expect((await owner.upload('a.md', text(60, 'walrus'))).data).toMatchObject({ isNew: false })
  expect((await owner.upload('a.md', text(61, 'gull'))).problem).toBe('quota_reached')
  expect((await owner.upload('a.md', text(60, 'gull'))).data).toMatchObject({ isNew: true })
  expect((await owner.upload('a.md', text(60, 'tern'))).data).toMatchObject({ isNew: true })
  await owner.untilRead()
  expect(await owner.search('tern')).toHaveLength(1)
  const { data: other } = await owner.call('create', { name: 'Other' })
  expect((await uploadKnowledge(small, { id: other.id, path: 'a.md' }, 'a', owner.token)).problem).toBe('quota_reached')
})

test('a file beyond the passages of a knowledge or a person says full', async () => {
  const owner = await addKnowledge(svc)
  await owner.upload('large.md', 'A text of many passages.')
  await owner.untilRead()
  const fill = (passages: number) =>
    svc.rows(`update knowledge_files set passages = $1 where knowledge_id = $2 and path = 'large.md'`, [
      passages,
      owner.knowledge,
    ])
  await fill(20_000)
  await owner.upload('a.md', 'A further text.')
  await owner.untilRead()
  expect(await owner.files()).toMatchObject([
    { path: 'a.md', failure: 'full', explanation: expect.stringContaining('no place') },
    { path: 'large.md', failure: null },
  ])

  await fill(100_000)
  const other = await addKnowledge(svc, 'Other', owner)
  await other.upload('a.md', 'A further text.')
  await other.untilRead()
  expect(await other.files()).toMatchObject([{ failure: 'full' }])
  await fill(19_999)
  await owner.upload('a.md', 'A further text.')
  await owner.untilRead()
  expect(await owner.files()).toMatchObject([{ failure: null }, { failure: null }])
})

test('a file that cannot be opened does not end the search of others', async () => {
  const owner = await addKnowledge(svc)
  for (const path of ['a.md', 'b.md', 'c.md']) await owner.upload(path, `The walrus of ${path} sleeps.`)
  await owner.untilRead()
  await svc.rows(`update knowledge_files set sealed_key = 'damaged' where knowledge_id = $1 and path = 'a.md'`, [
    owner.knowledge,
  ])
  await svc.rows(
    `update knowledge_terms set sealed = '\\x00' where file_id = (select id from knowledge_files where knowledge_id = $1 and path = 'b.md')`,
    [owner.knowledge],
  )

  expect((await owner.search('walrus')).map(({ file }) => file.path)).toEqual(['c.md'])
  expect(svc.log.join('\n')).toContain('could not be opened')
})

test('a token without the ability to write uploads nothing', async () => {
  const owner = await addKnowledge(svc)
  const { token } = await svc.host.tokens.createFor({ user: { id: owner.id }, name: 'reader', abilities: ['read'] })
  const place = { id: owner.knowledge, path: 'a.md' }

  expect(await uploadKnowledge(svc, place, 'text', token)).toMatchObject({ status: 403, problem: 'missing_ability' })
  expect((await callKnowledge(svc, 'files', { id: owner.knowledge, offset: 5 }, token)).data).toEqual({
    files: [],
    total: 0,
  })
  await owner.upload('a.md', 'text')
  expect((await callKnowledge(svc, 'files', { id: owner.knowledge, offset: 5 }, token)).data).toEqual({
    files: [],
    total: 1,
  })
})

test("a person's names are unique, and a wrong file or path is refused", async () => {
  const owner = await addKnowledge(svc, 'Notes')

  expect((await owner.call('create', { name: ' Notes ' })).problem).toBe('conflict')
  expect((await owner.upload('picture.png', PNG)).status).toBe(415)
  for (const path of ['', '/a.md', 'a//b.md', '../a.md', 'a\\b.md', 'a\u0000.md', 'a/.'])
    expect([400, 422], path).toContain((await owner.upload(path, 'text')).status)
  expect((await owner.upload('a.md', '')).problem).toBe('invalid')
  expect(await owner.files()).toEqual([])
})

test('words of a file are in no table, log or Redis in clear', async () => {
  const url = inject('redisUrl') ? redisDatabaseUrl(13) : undefined
  using redis = url === undefined ? undefined : await watchRedis(url)
  await using svc = await startApp(url ? { REDIS_URL: url } : {})
  const owner = await addKnowledge(svc)
  const canary = 'quetzalcoatlus'
  await owner.upload('a.md', `# The ${canary}\n\nThe ${canary} flew over the plains.`)
  await owner.untilRead()
  expect(await owner.search(`Where did the ${canary} fly?`)).toHaveLength(1)

  const tables = await svc.rows<{ schema: string; name: string }>(
    `select schemaname as schema, tablename as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  expect(tables.map(({ name }) => name)).toContain('knowledge_passages')
  const found: string[] = []
  for (const { schema, name } of tables) {
    // Bytes are read as Latin-1, in which each is a character.
    const rows = await svc.rows(
      `select 1 from "${schema}"."${name}" t where t::text ilike $1 or t::text like $2 limit 1`,
      [`%${canary.slice(0, 10)}%`, `%${Buffer.from(canary.slice(0, 10)).toString('hex')}%`],
    )
    if (rows.length > 0) found.push(name)
  }
  expect(found).toEqual([])
  expect(svc.log.join('\n')).not.toContain(canary.slice(0, 10))
  expect(redis?.commands.filter((command) => command.includes(canary.slice(0, 10))) ?? []).toEqual([])
})
