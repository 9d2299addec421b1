import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Manifest, writeManifest } from '../../server/backup/archive.ts'
import { toFolderProblem } from '../../server/backup/create.ts'
import { readEnv } from '../../server/config/env.ts'
import { openBlobs } from '../../server/stores/blobs/open-blobs.ts'
import { createVault } from '../../server/stores/vault.ts'
import { send as sendTo, startApp, type TestApp } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { base, startJsonApi } from '../kit/json-api/client.ts'
import { startPostgres } from '../kit/parts/postgres.ts'
import { startS3 } from '../kit/parts/s3.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openClient, queryRows } from '../kit/postgres-client.ts'
import { download, PNG, upload } from '../kit/rooms/attachments.ts'
import { createPerson } from '../kit/rooms/messages.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'
import { openChat } from '../kit/web/chat.ts'
import { openPage } from '../kit/web/chromium.ts'
import { PASSKEY, signIn } from '../kit/web/pages.ts'

const APP_KEY = 'the key of the installation, which is kept apart from its backups'

const fixtures = join(import.meta.dirname, '../fixtures')
/** A person of an installation of an earlier version, with their data. */
const earlier = JSON.parse(await readFile(join(fixtures, 'earlier-installation.json'), 'utf8')) as Record<
  'username' | 'token' | 'room' | 'file',
  string
>

const resources = new AsyncDisposableStack()
let svc: Awaited<ReturnType<typeof startJsonApi>>
let folder: string

beforeAll(async () => {
  svc = resources.use(await startJsonApi({ APP_KEY }))
  folder = await mkdtemp(join(tmpdir(), 'svc-backup-'))
  resources.defer(() => rm(folder, { recursive: true }))
})
afterAll(() => resources.disposeAsync())

const place = (name: string) => join(folder, name)

const command = (env: Record<string, string>, ...argv: string[]) => runCommand(['backup', ...argv], { env })

/** The settings of the source installation. */
const old = () => ({ DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder, APP_KEY, DATABASE_POOL: '2' })

/** An installation with nothing but keys. */
async function newInstallation(settings: Record<string, string> = {}) {
  const database = await createEmptyDatabase()
  const dataDir = await mkdtemp(join(folder, 'data-'))
  const env = { DATABASE_URL: database.url, DATA_DIR: dataDir, APP_KEY, DATABASE_POOL: '2', ...settings }
  return {
    env,
    restore: (copy: string) => command(env, 'restore', copy),
    /** Returns whether the installation is empty. */
    async isUntouched() {
      const [{ tables } = { tables: 0 }] = await queryRows<{ tables: number }>(
        database.url,
        `select count(*)::int as tables from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'`,
      )
      return tables === 0 && (await readdir(dataDir)).length === 0
    },
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

async function backedUp(name: string) {
  expect(await command(old(), 'create', place(name))).toMatchObject({ exitCode: 0, stderr: '' })
  return place(name)
}

test('a restored installation has all data, and clients read it again from the start', async () => {
  const person = await createPerson(svc)
  const { one: room } = await person.create('rooms', { name: 'Chess' })
  const { one: file } = await upload(svc, person.token, PNG, { name: 'dot.png', type: 'image/png' })
  await mkdir(join(svc.folder, 'announcements/rules'), { recursive: true })
  await writeFile(join(svc.folder, 'announcements/rules/en_US.md'), 'Be kind.')
  // A person has requested an export, which no backup contains.
  await svc.services.files.exports.write(Readable.from([PNG]))
  const before = await svc.host.audit.verify({ anchors: [] })

  const created = await command(old(), 'create', place('whole'), '--json')
  expect(JSON.parse(created.stdout)).toMatchObject({ files: 1, createdAt: expect.stringMatching(/^20.*Z$/) })
  expect(await readdir(join(place('whole'), 'tables'))).not.toContain('person_exports.copy.gz')
  expect(await command(old(), 'verify', place('whole'))).toMatchObject({ exitCode: 0, stderr: '' })
  await using fresh = await newInstallation()
  expect(await fresh.restore(place('whole'))).toMatchObject({ exitCode: 0, stderr: '' })

  await using again = await startApp(fresh.env)
  const found = await again.send('GET', `${base}/rooms/${room.id}`, { token: person.token })
  expect(found.status).toBe(200)
  expect((await download(again, person.token, file.id)).bytes).toEqual(PNG)
  expect(await readFile(join(fresh.env.DATA_DIR, 'announcements/rules/en_US.md'), 'utf8')).toBe('Be kind.')
  expect(await again.host.files.verify({})).toMatchObject({ attachments: 1, 'no-file': 0, damaged: 0 })
  const audited = await again.host.audit.verify({ anchors: [] })
  expect(audited).toMatchObject({ isWhole: true, findings: [] })
  expect(audited.entries).toBeGreaterThan(before.entries)
  const epochs = (rows: typeof svc.rows) => rows<{ epoch: string }>('select epoch from change_epochs')
  expect((await epochs(again.rows)).length).toBeGreaterThan((await epochs(svc.rows)).length)
  const another = await again.user({ username: 'newcomer' })
  expect(Number(another.id)).toBeGreaterThan(Number(person.id))
})

describeWith('chromium')('the drill', () => {
  test('after a wipe people sign in with their old password and passkey', async () => {
    await using lost = await startApp({ APP_KEY })
    {
      await using chat = await openChat(lost, 'ada')
      await chat.sendQuestion('What is a canary?')
      await chat.answered()
      await chat.messages().filter({ hasText: 'You wrote' }).waitFor()
      // The page shows a message a moment before it is stored.
      const stored = 'select count(*)::int as messages from conversation_messages where is_complete'
      await expect.poll(() => lost.rows(stored)).toEqual([{ messages: 2 }])
    }
    const env = { DATABASE_URL: lost.env.DATABASE_URL ?? '', DATA_DIR: lost.folder, APP_KEY, DATABASE_POOL: '2' }
    expect(await command(env, 'create', place('drill'))).toMatchObject({ exitCode: 0, stderr: '' })
    await using fresh = await newInstallation()
    expect(await fresh.restore(place('drill'))).toMatchObject({ exitCode: 0, stderr: '' })

    await using again = await startApp(fresh.env)
    await using browser = await openPage(again.url)
    const { page } = browser
    await signIn(page)
    await page.fill('[name=passkey]', PASSKEY)
    await page.getByRole('button', { name: 'Unlock' }).click()
    await page.getByRole('navigation', { name: 'Chats' }).getByRole('link').first().click()

    await page.getByRole('article').filter({ hasText: 'You wrote' }).waitFor()
  })
})

test('an installation of an earlier version is restored, and brought to the newest schema', async () => {
  const { token, room, file } = earlier
  await using fresh = await newInstallation()

  expect(await fresh.restore(join(fixtures, 'earlier-installation'))).toMatchObject({ exitCode: 0, stderr: '' })

  await using again = await startApp(fresh.env)
  expect((await again.send('GET', `${base}/rooms/${room}`, { token })).status).toBe(200)
  expect((await download(again, token, file)).bytes).toEqual(PNG)
  expect(await again.host.limits.list()).toMatchObject([{ name: 'daily', cap: 100 }])
  for await (const rows of await again.host.usage.by({ by: 'user' }))
    expect(rows).toMatchObject([{ user: earlier.username, requests: 5 }])
})

test('a restore that breaks off leaves no file behind, and succeeds the next time', async () => {
  const person = await createPerson(svc)
  await upload(svc, person.token, PNG, { name: 'dot.png', type: 'image/png' })
  const copy = await backedUp('repeated')
  await using fresh = await newInstallation()
  // An unused service still created the schema.
  await (await startApp(fresh.env)).stop()
  await queryRows(
    fresh.env.DATABASE_URL,
    `create function refuse() returns event_trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
     create event trigger refuse on ddl_command_start when tag in ('ALTER TABLE') execute function refuse()`,
  )
  const blocked = await fresh.restore(copy)
  await queryRows(fresh.env.DATABASE_URL, 'drop event trigger refuse')

  expect(blocked).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not now') })
  expect(await fresh.restore(copy)).toMatchObject({ exitCode: 0, stderr: '' })
})

test('the embedded database is restored like any other', async () => {
  const dataDir = await mkdtemp(join(folder, 'data-'))
  const env = { DATA_DIR: dataDir, APP_KEY }

  expect(await command(env, 'restore', join(fixtures, 'earlier-installation'))).toMatchObject({ exitCode: 0 })

  const { stdout } = await runCommand(['users', '--json'], { env })
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ username: earlier.username }))
})

test('a backup under load lacks nothing that was acknowledged before it began', async () => {
  let isOver = false
  const acknowledged: string[] = []
  const writing = Array.from({ length: 4 }, async (_, writer) => {
    for (let n = 0; !isOver; n++) {
      const { username } = await svc.user({ username: `busy${writer}x${n}`, keys: false })
      acknowledged.push(username)
    }
  })
  await expect.poll(() => acknowledged.length).toBeGreaterThan(8)
  const known = [...acknowledged]

  const copy = await backedUp('busy')
  isOver = true
  await Promise.all(writing)

  await using fresh = await newInstallation()
  expect(await fresh.restore(copy)).toMatchObject({ exitCode: 0 })
  const names = await queryRows<{ username: string }>(fresh.env.DATABASE_URL, 'select username from users')
  expect(names.map(({ username }) => username)).toEqual(expect.arrayContaining(known))
})

test('a backup needs an empty folder, and leaves nothing when it breaks off', async () => {
  await mkdir(place('full'))
  await writeFile(place('full/note'), 'mine')

  const refused = await command(old(), 'create', place('full'))

  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is not empty') })
  expect(await readdir(place('full'))).toEqual(['note'])
  await writeFile(place('file'), '')
  const broken = await command(old(), 'create', place('file/below'))
  expect(broken.exitCode).toBe(1)
  expect((await readdir(folder)).filter((name) => name.includes('.draft'))).toEqual([])
})

test('a damaged backup, or one under other keys, is refused before any write', async () => {
  const copy = await backedUp('altered')
  await using fresh = await newInstallation()
  const refusals = async (sentence: string) => {
    expect(await fresh.restore(copy)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(sentence) })
    expect(await command(old(), 'verify', copy)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(sentence),
    })
    expect(await fresh.isUntouched()).toBe(true)
  }
  const changed = async (path: string, change: (content: Buffer) => Buffer, sentence: string) => {
    const content = await readFile(join(copy, path))
    await writeFile(join(copy, path), change(content))
    await refusals(sentence)
    await writeFile(join(copy, path), content)
  }
  const flipped = (content: Buffer) => Buffer.from(content.map((byte, at) => (at === 20 ? byte ^ 1 : byte)))

  await changed('tables/users.copy.gz', (content) => content.subarray(0, -1), 'was cut or changed')
  await changed('tables/users.copy.gz', flipped, 'was cut or changed')
  await changed('manifest.json', flipped, 'is not the one that was written')
  await changed('seal', (content) => content.subarray(0, -3), 'does not open')
  await rm(join(copy, 'tables/rooms.copy.gz'))
  await refusals('missing or cannot be read')

  for (const settings of [
    { APP_KEY: 'another key of forty characters, as it must be' },
    { PASSKEY_SALT: 'another salt of the passkey' },
  ]) {
    await using other = await newInstallation(settings)
    expect(await other.restore(await whole())).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/seal of the backup does not open|salts .* are not those/),
    })
    expect(await other.isUntouched()).toBe(true)
  }
  await using keyless = await newInstallation({ APP_KEY: '' })
  expect(await keyless.restore(await whole())).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('put the keys of the installation in place first'),
  })
  expect(await keyless.isUntouched()).toBe(true)
  expect(await fresh.restore(folder)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('is no backup') })
})

let made: Promise<string> | undefined
/** An unchanged backup. */
const whole = () => {
  made ??= backedUp('kept')
  return made
}

test('an installation with people, files or accounts keeps what it has', async () => {
  await svc.user({ keys: false })

  const refused = await command(old(), 'restore', await whole())

  expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/is there already|has people already/) })
  await using used = await startApp({ APP_KEY })
  await used.user({ username: 'ada' })
  const env = { ...old(), DATABASE_URL: used.env.DATABASE_URL ?? '', DATA_DIR: used.folder }
  expect(await command(env, 'restore', await whole())).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('has people already'),
  })
  expect(await used.rows(`select username from users where id > 1`)).toEqual([{ username: 'ada' }])
})

test.for(['SIGINT', 'SIGTERM'] as const)(
  'a restore that %s ends leaves no database running, and is tried again',
  async (signal) => {
    const copy = join(fixtures, 'earlier-installation')
    await using data = await createDataFolder()
    const env = { DATA_DIR: data.path, APP_KEY }
    const command = [process.execPath, join(root, 'cli/svc.ts'), 'backup', 'restore', copy]
    await using restoring = startProcess(env, command)
    await expect.poll(data.postgres, { interval: 5 }).toBeGreaterThan(0)
    restoring.signalAll(signal)

    expect(await restoring.ended).toBe(128 + constants.signals[signal])
    expect(await data.postgres()).toBe(undefined)
    expect(await runCommand(['backup', 'restore', copy], { env })).toMatchObject({ exitCode: 0, stderr: '' })
  },
)

test('a backup that is interrupted leaves nothing of itself', async () => {
  await using blocker = await openClient(svc.env.DATABASE_URL ?? '')
  await blocker.query('begin')
  await blocker.query('lock table usage_bills in access exclusive mode')
  const drafts = async () => (await readdir(folder)).filter((name) => name.startsWith('interrupted'))
  await using creating = startProcess(old(), [
    process.execPath,
    join(root, 'cli/svc.ts'),
    'backup',
    'create',
    place('interrupted'),
  ])
  await expect.poll(drafts).toHaveLength(1)
  creating.signalAll('SIGINT')

  expect(await creating.ended).toBe(128 + constants.signals.SIGINT)
  expect(await drafts()).toEqual([])
})

test('a backup is refused in words where its folder is full or takes nothing', async () => {
  await writeFile(place('a-file'), '')
  const below = await command(old(), 'create', place('a-file/backup'))
  const virtual = await command(old(), 'create', '/proc/backup')
  const full = await writeFile('/dev/full', 'x').catch((error: unknown) => toFolderProblem(error, '/mnt/backup'))

  expect(below).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('lies below a file') })
  expect(virtual).toMatchObject({ exitCode: 1, stderr: '/proc/backup cannot be made there.\n' })
  expect(full?.message).toBe('There is not enough space for a backup in /mnt/backup. Nothing of it was kept.')
  const outcomes = await queryRows<{ outcome: string }>(
    svc.env.DATABASE_URL ?? '',
    `select outcome from audit_entries where act = 'backups.create' order by seq desc limit 2`,
  )
  expect(outcomes).toEqual([{ outcome: 'folder_unusable' }, { outcome: 'folder_unusable' }])
})

test('the first of two overlapping backups into one folder stays', async () => {
  await using blocker = await openClient(svc.env.DATABASE_URL ?? '')
  await blocker.query('begin')
  await blocker.query('lock table usage_bills in access exclusive mode')
  const create = () => command(old(), 'create', place('overlapping'))
  const creating = [create(), create()]
  const drafts = async () => (await readdir(folder)).filter((name) => name.startsWith('overlapping.draft'))
  await expect.poll(drafts).toHaveLength(2)
  await blocker.query('commit')

  const exitCodes = (await Promise.all(creating)).map(({ exitCode }) => exitCode)

  expect(exitCodes.toSorted()).toEqual([0, 1])
  expect(await command(old(), 'verify', place('overlapping'))).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await drafts()).toEqual([])
})

/** Changes the manifest of a backup, and seals it again. */
async function changeManifest(copy: string, change: (content: Manifest) => void): Promise<void> {
  const content = JSON.parse(await readFile(join(copy, 'manifest.json'), 'utf8')) as Manifest
  change(content)
  await writeManifest(copy, content, { vault: createVault(APP_KEY), env: readEnv(old()) })
}

test('a restore whose accounts cannot be written has written no rows', async () => {
  const copy = await backedUp('without-place')
  await mkdir(join(copy, 'state'), { recursive: true })
  await writeFile(join(copy, 'state/accounts.json'), '[]')
  const sha256 = createHash('sha256').update('[]').digest('hex')
  await changeManifest(copy, ({ state }) => state.push({ path: 'state/accounts.json', bytes: 2, sha256 }))
  await using fresh = await newInstallation()
  const unwritable = { ...fresh.env, ACCOUNTS_FILE: '/dev/null/accounts.json' }

  expect(await command(unwritable, 'restore', copy)).toMatchObject({ exitCode: 1 })

  expect(await fresh.restore(copy)).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await readFile(join(fresh.env.DATA_DIR, 'accounts.json'), 'utf8')).toBe('[]')
})

test('a backup of a newer version requires it, also on a used schema', async () => {
  const copy = await backedUp('newer')
  await changeManifest(copy, (content) => {
    content.schema = 'Migration29990101000000'
  })
  await using fresh = await newInstallation()
  await (await startApp(fresh.env)).stop()

  expect(await fresh.restore(copy)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('newer version (Migration29990101000000): install that version'),
  })
})

test('a backup names the files in a bucket, and a restore misses them', async () => {
  await using s3 = await startS3()
  await using source = await startJsonApi({ APP_KEY, ...s3.settings })
  const person = await createPerson(source)
  const { one: file } = await upload(source, person.token, PNG, { name: 'dot.png', type: 'image/png' })
  const env = { ...s3.settings, DATABASE_URL: source.env.DATABASE_URL ?? '', DATA_DIR: source.folder, APP_KEY }
  const blobs = await openBlobs(readEnv(env))
  // Blobs of running health checks, of this and of earlier versions.
  const checks = ['health-check', 'health/check']
  for (const key of checks) await blobs.replace(key, Buffer.from('.'))

  expect(await command(env, 'create', place('bucket'))).toMatchObject({ exitCode: 0, stderr: '' })
  const { files } = JSON.parse(await readFile(join(place('bucket'), 'manifest.json'), 'utf8'))
  const key = `sealed/${String(file.attributes['uuid']).slice(0, 2)}/${file.attributes['uuid']}`
  expect(files).toEqual([{ key, bytes: expect.any(Number), sha256: null }])
  expect(await readdir(place('bucket'))).not.toContain('files')

  for (const key of checks) await blobs.remove(key)
  await blobs.close()
  // Earlier versions listed that blob.
  await changeManifest(place('bucket'), ({ files }) => files.push({ key: 'health/check', bytes: 1, sha256: null }))
  await using fresh = await newInstallation(s3.settings)
  expect(await fresh.restore(place('bucket'))).toMatchObject({ exitCode: 0, stderr: '' })
  await using again = await startApp(fresh.env)
  expect((await download(again, person.token, file.id)).bytes).toEqual(PNG)

  await source.services.files.attachments.remove([String(file.attributes['uuid'])])
  await using late = await newInstallation(s3.settings)
  expect(await late.restore(place('bucket'))).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining(`1 of 1 files are not in the bucket, ${key} among them`),
  })
})

describeWith('postgres')('between majors of PostgreSQL', () => {
  test('what that of Debian kept is restored into the embedded one, and back', async () => {
    await using debian = await startPostgres('svc', 'secret', 'svc')
    const url = `postgresql://svc:secret@${debian.address}/svc`
    await using source = await startJsonApi({ APP_KEY, DATABASE_URL: url })
    const person = await createPerson(source)
    const { one: room } = await person.create('rooms', { name: 'Chess' })
    const { one: file } = await upload(source, person.token, PNG, { name: 'dot.png', type: 'image/png' })
    const env = { DATABASE_URL: url, DATA_DIR: source.folder, APP_KEY }
    expect(await command(env, 'create', place('debian'))).toMatchObject({ exitCode: 0, stderr: '' })
    const { postgres } = JSON.parse(await readFile(join(place('debian'), 'manifest.json'), 'utf8'))

    await using data = await createDataFolder()
    const embedded = { DATA_DIR: data.path, APP_KEY }
    expect(await command(embedded, 'restore', place('debian'))).toMatchObject({ exitCode: 0, stderr: '' })
    await using moved = startProcess({ ...embedded, PORT: '0', NODE_ENV: 'development' })
    const send: TestApp['send'] = async (...request) => sendTo(await moved.ready(), ...request)
    expect((await send('GET', `${base}/rooms/${room.id}`, { token: person.token })).status).toBe(200)
    expect((await download({ send }, person.token, file.id)).bytes).toEqual(PNG)
    expect(await command(embedded, 'create', place('embedded'))).toMatchObject({ exitCode: 0, stderr: '' })
    await moved.stop()
    const copied = JSON.parse(await readFile(join(place('embedded'), 'manifest.json'), 'utf8'))
    expect(Number.parseInt(copied.postgres, 10)).toBeGreaterThan(Number.parseInt(postgres, 10))

    await using other = await startPostgres('svc', 'secret', 'back')
    const back = {
      DATABASE_URL: `postgresql://svc:secret@${other.address}/back`,
      DATA_DIR: await mkdtemp(join(folder, 'data-')),
      APP_KEY,
    }
    expect(await command(back, 'restore', place('embedded'))).toMatchObject({ exitCode: 0, stderr: '' })
    await using again = await startApp(back)
    expect((await again.send('GET', `${base}/rooms/${room.id}`, { token: person.token })).status).toBe(200)
    expect(await again.host.audit.verify({ anchors: [] })).toMatchObject({ isWhole: true, findings: [] })
  })
})
