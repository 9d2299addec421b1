import { mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addKnowledge } from '../kit/assistants/knowledge.ts'
import { signIn } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { fetchExport, makeExport, unpackExport } from '../kit/person-export.ts'

const APP_KEY = 'the key of the installation that is kept apart from its backups'
const NEWER = 'another key of the installation that seals from now on'

/** A service with a person whose knowledge has one file that is searchable. */
async function startWithFile() {
  const svc = await startApp({ APP_KEY })
  const owner = await addKnowledge(svc)
  await owner.upload('a.md', 'The lighthouse keeper feeds the gulls.')
  await owner.untilRead()
  const env = { DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder, APP_KEY, DATABASE_POOL: '2' }
  return {
    svc,
    owner,
    command: async (argv: string[], settings: Record<string, string> = {}) =>
      runCommand(argv, { env: { ...env, ...settings } }),
    async countFiles() {
      let count = 0
      for await (const _ of svc.services.files.knowledge.list()) count++
      return count
    },
    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}

test('svc files verify and rotate know the files of knowledge', async () => {
  await using started = await startWithFile()
  const { command, owner } = started
  const verified = await command(['files', 'verify', '--json'])
  expect(JSON.parse(verified.stdout)).toMatchObject({ knowledge: 1, read: 1, damaged: 0, 'no-owner': 0 })

  const rotated = await command(['files', 'rotate', '--json'], { APP_KEY: NEWER, APP_PREVIOUS_KEYS: APP_KEY })
  expect(JSON.parse(rotated.stdout)).toMatchObject({ renewed: 1, unknown: 0 })
  const read = await command(['files', 'verify', '--json'], { APP_KEY: NEWER })
  expect(JSON.parse(read.stdout)).toMatchObject({ knowledge: 1, read: 1, 'unknown-key': 0 })
  await command(['files', 'rotate'], { APP_KEY, APP_PREVIOUS_KEYS: NEWER })
  expect(await owner.search('gulls')).toHaveLength(1)
})

test('a restored installation finds the same passages', async () => {
  await using started = await startWithFile()
  const { command, owner } = started
  const folder = await mkdtemp(join(tmpdir(), 'svc-knowledge-'))
  try {
    expect(await command(['backup', 'create', join(folder, 'copy')])).toMatchObject({ exitCode: 0, stderr: '' })
    await using database = await createEmptyDatabase()
    const env = { DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(folder, 'data-')), APP_KEY }
    const restored = await runCommand(['backup', 'restore', join(folder, 'copy')], {
      env: { ...env, DATABASE_POOL: '2' },
    })
    expect(restored).toMatchObject({ exitCode: 0, stderr: '' })
    await using again = await startApp(env)
    const response = await again.send('POST', '/trpc/knowledge.search', {
      token: owner.token,
      body: { id: owner.knowledge, query: 'Who feeds gulls?' },
    })
    const { result } = (await response.json()) as { result: { data: unknown } }
    expect(result.data).toEqual(await owner.search('Who feeds gulls?'))
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('erasing a person deletes their knowledge, and the receipt says so', async () => {
  await using started = await startWithFile()
  const { svc, owner, countFiles } = started
  const other = await addKnowledge(svc)
  await other.upload('b.md', 'Nobody feeds the sharks.')
  await other.untilRead()
  const report = await svc.host.admin.removeUser({ user: { id: owner.id } })

  expect(JSON.stringify(report)).toContain('"knowledge":{"deleted":1,"kept":0}')
  expect(await svc.rows('select from knowledge_passages')).toHaveLength(1)
  expect(await countFiles()).toBe(1)
  expect(await other.search('sharks')).toHaveLength(1)
})

test('the hourly sweep deletes stored files that no knowledge has', async () => {
  await using started = await startWithFile()
  const { svc, owner, countFiles } = started
  const { name } = await svc.services.files.knowledge.write(Readable.from([Buffer.from('left over')]))
  const past = new Date(Date.now() - 2 * 60 * 60_000)
  await utimes(join(svc.folder, 'files/knowledge', name.slice(0, 2), name), past, past)
  expect(await countFiles()).toBe(2)

  expect(await svc.host.files.sweep()).toMatchObject({ orphans: 1 })
  expect(await countFiles()).toBe(1)
  expect(await owner.search('gulls')).toHaveLength(1)
})

test('a file whose job was lost while it was read is read again', async () => {
  await using started = await startWithFile()
  const { svc, owner } = started
  await svc.rows('delete from knowledge_passages')
  await svc.rows('delete from knowledge_terms')
  await svc.rows(`update knowledge_files set state = 'reading'`)

  expect(await svc.host.knowledge.planLost()).toEqual({ planned: 1 })
  await owner.untilRead()
  expect(await owner.search('gulls')).toHaveLength(1)
})

test("a person's archive has their knowledge and the files in it", async () => {
  await using svc = await startApp()
  const { browser, id } = await signIn(svc, 'ada')
  const { token } = await svc.host.tokens.createFor({ user: { id }, name: 'test', abilities: ['read', 'write'] })
  const owner = await addKnowledge(svc, 'Handbook', { id, token })
  await owner.upload('a.md', 'The lighthouse keeper feeds the gulls.')
  await owner.untilRead()
  const { id: exportId } = await makeExport(browser)
  const archive = unpackExport((await fetchExport(svc, browser, exportId)).bytes)

  expect(archive.rows('knowledge')).toMatchObject([{ attributes: { name: 'Handbook' } }])
  expect(archive.rows('knowledge-files')).toMatchObject([{ attributes: { path: 'a.md', state: 'ready' } }])
  const [path = ''] = archive.paths.filter((name) => name.startsWith('knowledge/'))
  expect(archive.text(path)).toBe('The lighthouse keeper feeds the gulls.')
})
