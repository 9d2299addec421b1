import { mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { signIn } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { fetchExport, makeExport, unpackExport } from '../kit/person-export.ts'
import { addSharer, readCopy } from '../kit/rooms/shared-links.ts'

const APP_KEY = 'the key of the installation that is kept apart from its backups'
const NEWER = 'another key of the installation that seals from now on'

/** A service with a person who shares a copy. */
async function startWithLink() {
  const svc = await startApp({ APP_KEY })
  const { browser, ...person } = await signIn(svc, 'ada')
  const { token } = await svc.host.tokens.createFor({
    user: { id: person.id },
    name: 'sharing',
    abilities: ['read', 'write'],
  })
  const owner = await addSharer(svc, { ...person, token })
  const id = await owner.share()
  const env = { DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder, APP_KEY, DATABASE_POOL: '2' }
  return {
    svc,
    browser,
    owner,
    id,
    command: async (argv: string[], settings: Record<string, string> = {}) =>
      runCommand(argv, { env: { ...env, ...settings } }),
    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}

test('svc files verify, rotate and the hourly sweep know the copies of links', async () => {
  await using started = await startWithLink()
  const { svc, command, owner, id } = started
  const verified = await command(['files', 'verify', '--json'])
  expect(JSON.parse(verified.stdout)).toMatchObject({ sharedCopies: 1, read: 1, damaged: 0, 'no-owner': 0 })
  const rotated = await command(['files', 'rotate', '--json'], { APP_KEY: NEWER, APP_PREVIOUS_KEYS: APP_KEY })
  expect(JSON.parse(rotated.stdout)).toMatchObject({ renewed: 1, unknown: 0 })
  await command(['files', 'rotate'], { APP_KEY, APP_PREVIOUS_KEYS: NEWER })

  const { name } = await svc.services.files.sharedCopies.write(Readable.from([Buffer.from('left over')]))
  const past = new Date(Date.now() - 2 * 60 * 60_000)
  await utimes(join(svc.folder, 'files/shared', name.slice(0, 2), name), past, past)
  expect(await svc.host.files.sweep()).toMatchObject({ orphans: 1 })
  expect((await readCopy(svc, id, owner.token)).text).toBe('sealed bytes')
})

test('a restored installation serves the same copy', async () => {
  await using started = await startWithLink()
  const { command, owner, id } = started
  const folder = await mkdtemp(join(tmpdir(), 'svc-shared-'))
  try {
    expect(await command(['backup', 'create', join(folder, 'copy')])).toMatchObject({ exitCode: 0, stderr: '' })
    await using database = await createEmptyDatabase()
    const env = { DATABASE_URL: database.url, DATA_DIR: await mkdtemp(join(folder, 'data-')), APP_KEY }
    const restored = await runCommand(['backup', 'restore', join(folder, 'copy')], {
      env: { ...env, DATABASE_POOL: '2' },
    })
    expect(restored.exitCode).toBe(0)
    await using again = await startApp({ ...env, APP_KEY })
    expect(await readCopy(again, id, owner.token)).toMatchObject({ status: 200, text: 'sealed bytes' })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test("a person's archive has their links with the sealed copies", async () => {
  await using started = await startWithLink()
  const { svc, browser, id } = started
  const { id: exportId } = await makeExport(browser)
  const archive = unpackExport((await fetchExport(svc, browser, exportId)).bytes)

  expect(archive.rows('shared-links').map(({ attributes }) => attributes)).toMatchObject([
    { address: id, audience: 'people', bytes: 12, sealedKey: expect.stringContaining('|') },
  ])
  expect(archive.text(`shared/${id}.sealed`)).toBe('sealed bytes')
})
