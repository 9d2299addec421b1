import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { run } from '../kit/command-line.ts'
import { emptyDatabase } from '../kit/database.ts'
import { base, startJsonApi } from '../kit/json-api/client.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { rowsOf } from '../kit/postgres-client.ts'
import { download, PNG, upload } from '../kit/rooms/attachments.ts'
import { newPerson } from '../kit/rooms/messages.ts'
import { openChat } from '../kit/web/chat.ts'
import { openPage } from '../kit/web/chromium.ts'
import { PASSKEY, signIn } from '../kit/web/pages.ts'

const APP_KEY = 'the key of the installation, which is kept apart from its backups'

const fixtures = join(import.meta.dirname, '../fixtures')
/** Somebody of an installation of an earlier version, and what is theirs. */
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

const command = (env: Record<string, string>, ...argv: string[]) => run(['backup', ...argv], { env })

/** The settings of the installation that is copied. */
const old = () => ({ DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder, APP_KEY, DATABASE_POOL: '2' })

/** An installation with keys and nothing else. */
async function newInstallation(settings: Record<string, string> = {}) {
  const database = await emptyDatabase()
  const dataDir = await mkdtemp(join(folder, 'data-'))
  const env = { DATABASE_URL: database.url, DATA_DIR: dataDir, APP_KEY, DATABASE_POOL: '2', ...settings }
  return {
    env,
    restore: (copy: string) => command(env, 'restore', copy),
    /** Tells if there is nothing at all in it. */
    async isUntouched() {
      const [{ tables } = { tables: 0 }] = await rowsOf<{ tables: number }>(
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

test('what people had is there again in an empty installation, and clients read it anew', async () => {
  const person = await newPerson(svc)
  const { one: room } = await person.create('rooms', { name: 'Chess' })
  const { one: file } = await upload(svc, person.token, PNG, { name: 'dot.png', type: 'image/png' })
  await mkdir(join(svc.folder, 'announcements/rules'), { recursive: true })
  await writeFile(join(svc.folder, 'announcements/rules/en_US.md'), 'Be kind.')
  const before = await svc.host.audit.verify({ anchors: [] })

  const created = await command(old(), 'create', place('whole'), '--json')
  expect(JSON.parse(created.stdout)).toMatchObject({ files: 1, createdAt: expect.stringMatching(/^20.*Z$/) })
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
  test('after a wipe people sign in with their old password and passkey, and read on', async () => {
    await using lost = await startApp({ APP_KEY })
    {
      await using chat = await openChat(lost, 'ada')
      await chat.ask('What is a canary?')
      await chat.answered()
      await chat.messages().filter({ hasText: 'You wrote' }).waitFor()
    }
    const env = { DATABASE_URL: lost.env.DATABASE_URL ?? '', DATA_DIR: lost.folder, APP_KEY, DATABASE_POOL: '2' }
    expect(await command(env, 'create', place('drill'))).toMatchObject({ exitCode: 0, stderr: '' })
    await using fresh = await newInstallation()
    expect(await fresh.restore(place('drill'))).toMatchObject({ exitCode: 0, stderr: '' })

    await using again = await startApp(fresh.env)
    await using browser = await openPage(again.url)
    const { page } = browser
    await signIn(page)
    await page.fill('#passkey', PASSKEY)
    await page.getByRole('button', { name: 'Unlock' }).click()
    await page.getByRole('navigation', { name: 'Conversations' }).getByRole('link').first().click()

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
  const person = await newPerson(svc)
  await upload(svc, person.token, PNG, { name: 'dot.png', type: 'image/png' })
  const copy = await backedUp('repeated')
  await using fresh = await newInstallation()
  // A service that nobody used leaves the schema.
  await (await startApp(fresh.env)).stop()
  await rowsOf(
    fresh.env.DATABASE_URL,
    `create function refuse() returns event_trigger language plpgsql as $$ begin raise exception 'not now'; end $$;
     create event trigger refuse on ddl_command_start when tag in ('ALTER TABLE') execute function refuse()`,
  )
  const blocked = await fresh.restore(copy)
  await rowsOf(fresh.env.DATABASE_URL, 'drop event trigger refuse')

  expect(blocked).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not now') })
  expect(await fresh.restore(copy)).toMatchObject({ exitCode: 0, stderr: '' })
})

test('the embedded database is restored like any other', async () => {
  const dataDir = await mkdtemp(join(folder, 'data-'))
  const env = { DATA_DIR: dataDir, APP_KEY }

  expect(await command(env, 'restore', join(fixtures, 'earlier-installation'))).toMatchObject({ exitCode: 0 })

  const { stdout } = await run(['users', '--json'], { env })
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ username: earlier.username }))
})

test('nothing that was acknowledged before a backup began is missing in it, while people go on', async () => {
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
  const names = await rowsOf<{ username: string }>(fresh.env.DATABASE_URL, 'select username from users')
  expect(names.map(({ username }) => username)).toEqual(expect.arrayContaining(known))
})

test('a backup needs a folder of its own, and one that breaks off leaves nothing', async () => {
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

test('a copy that was cut or changed, and one under other keys, is refused before anything is written', async () => {
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
/** A backup that nobody changes. */
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
