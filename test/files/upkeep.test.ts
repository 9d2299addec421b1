import { randomUUID } from 'node:crypto'
import { watch } from 'node:fs'
import { mkdir, readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { FILE_KEY, USERDATA } from '../../routers/ports/vault.ts'
import { createVault } from '../../server/stores/vault.ts'
import { run } from '../kit/command-line.ts'
import { type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { download, PNG, sendWith, storedFiles, upload } from '../kit/rooms/attachments.ts'
import { newPerson, newRoom } from '../kit/rooms/messages.ts'

const [KEY, NEWER, UNKNOWN] = ['first', 'second', 'third'].map(
  (name) => `the ${name} key of thirty-two characters or more`,
)
const SOON = { timeout: 50_000, interval: 50 }
const MAX_FILES = 5

let svc: JsonApiApp
beforeAll(async () => {
  svc = await startJsonApi({ APP_KEY: `${KEY}`, RETENTION_FILES_MONTHS: '6', ATTACHMENT_QUOTA_FILES: `${MAX_FILES}` })
})
afterAll(() => svc[Symbol.asyncDispose]())

/** Leaves neither attachments, pictures nor files of other tests. */
async function clear() {
  await svc.rows('delete from attachments')
  for (const table of ['users', 'rooms']) await svc.rows(`update ${table} set avatar = null where avatar is not null`)
  await rm(join(svc.folder, 'files/avatars'), { recursive: true, force: true })
  await svc.services.files.remove(await storedFiles(svc))
}

/** Runs `svc files` beside the service. */
async function command(words: string[], settings: Record<string, string> = {}) {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  const env = { DATABASE_URL, DATA_DIR, APP_KEY: `${KEY}`, RETENTION_FILES_MONTHS: '6', ...settings }
  const { exitCode, stdout, stderr } = await run(['files', ...words, '--json'], { env })
  return { exitCode, stderr, record: JSON.parse(stdout) }
}

const pathOf = (name: string) => join(svc.folder, 'files/sealed', name.slice(0, 2), name)

async function uploadFor({ token }: { token: string }, bytes = 'some words') {
  const { one } = await upload(svc, token, bytes)
  return { id: one.id, name: String(one.attributes['uuid']) }
}

async function putOrphan(age: number) {
  const name = randomUUID()
  await mkdir(join(pathOf(name), '..'), { recursive: true })
  await writeFile(pathOf(name), 'left by somebody who was killed')
  const then = new Date(Date.now() - age)
  await utimes(pathOf(name), then, then)
  return name
}

test('svc files verify says which attachments have no file, which files no attachment, and which do not open', async () => {
  await clear()
  const person = await newPerson(svc)
  const [whole, gone, cut, foreign] = await Promise.all([1, 2, 3, 4].map(() => uploadFor(person)))
  const fine = await command(['verify'])
  expect(fine).toMatchObject({ exitCode: 0, record: { attachments: 4, files: 4, read: 4, listed: [] } })

  await rm(pathOf(gone?.name ?? ''))
  await truncate(pathOf(cut?.name ?? ''), 5)
  const strange = createVault(`${UNKNOWN}`).seal('a key', FILE_KEY)
  await svc.rows('update attachments set sealed_key = $2 where id = $1', [foreign?.id, strange])
  const orphan = await putOrphan(2 * 60 * 60_000)
  await putOrphan(0)
  const { exitCode, record } = await command(['verify'])

  expect(exitCode).toBe(1)
  expect(record).toMatchObject({ attachments: 4, files: 5, read: 1 })
  expect(record).toMatchObject({ 'no-file': 1, 'no-owner': 1, 'unknown-key': 1, damaged: 1 })
  const found = (finding: string, file = '', id = '') => ({ finding, file, owner: id ? `attachments/${id}` : null })
  expect(record.listed).toHaveLength(4)
  expect(record.listed).toEqual(
    expect.arrayContaining([
      found('no-file', gone?.name, gone?.id),
      found('damaged', cut?.name, cut?.id),
      found('unknown-key', foreign?.name, foreign?.id),
      found('no-owner', orphan),
    ]),
  )
  const unread = await command(['verify', '--sample', '0'])
  expect(unread.record).toMatchObject({ read: 0, 'no-file': 1, 'no-owner': 1, damaged: 0 })
  expect((await command(['verify', '--sample', 'many'])).exitCode).toBe(2)
  expect((await command(['verify', '--sample', '101'])).exitCode).toBe(2)
  expect((await download(svc, person.token, whole?.id ?? '')).bytes.toString()).toBe('some words')
})

test('svc files rotate seals the keys of files anew, so that they open without the earlier application key', async () => {
  await clear()
  const person = await newPerson(svc)
  const [one, other] = [await uploadFor(person), await uploadFor(person)]
  await expect
    .poll(async () => (await svc.rows(`select from attachments where text_state = 'pending'`)).length, SOON)
    .toBe(0)
  const keys = () => svc.rows<{ sealed_key: string }>('select sealed_key from attachments order by id')
  const before = await keys()

  expect(await command(['rotate'], { APP_KEY: `${UNKNOWN}` })).toMatchObject({
    exitCode: 1,
    record: { attachments: 2, pictures: 0, renewed: 0, unknown: 2 },
  })
  expect(await keys()).toEqual(before)
  const both = { APP_KEY: `${NEWER}`, APP_PREVIOUS_KEYS: `${KEY}` }
  expect(await command(['rotate'], both)).toMatchObject({
    exitCode: 0,
    record: { attachments: 2, renewed: 2, unknown: 0 },
  })
  expect(await command(['rotate'], both)).toMatchObject({ exitCode: 0, record: { renewed: 0, unknown: 0 } })

  const settings = { DATABASE_URL: svc.env.DATABASE_URL ?? '', DATA_DIR: svc.folder, APP_KEY: `${NEWER}` }
  expect(await command(['verify'], settings)).toMatchObject({ exitCode: 0, record: { read: 2 } })
  for (const { id } of [one, other]) expect((await download(svc, person.token, id)).status).toBe(500)
  await command(['rotate'], { APP_KEY: `${KEY}`, APP_PREVIOUS_KEYS: `${NEWER}` })
  for (const { id } of [one, other]) {
    expect((await download(svc, person.token, id)).bytes.toString()).toBe('some words')
    const text = await svc.send('GET', `/api/svc/v1/attachments/${id}/actions/text`, { token: person.token })
    expect(await text.text()).toBe('some words')
  }
})

test('svc files stats counts files and bytes by kind, state and owner', async () => {
  await clear()
  const [few, many] = [await newPerson(svc), await newPerson(svc)]
  for (const person of [few, many, many]) await uploadFor(person)
  await expect
    .poll(async () => (await svc.rows(`select from attachments where text_state = 'pending'`)).length, SOON)
    .toBe(0)

  const count = (files: number) => ({ files, bytes: files * 'some words'.length })
  expect((await command(['stats'])).record).toEqual({
    ...count(3),
    kinds: [{ kind: 'document', ...count(3) }],
    textStates: [{ textState: 'ready', ...count(3) }],
    linked: [{ linked: false, ...count(3) }],
    owners: [
      { user: many.id, ...count(2) },
      { user: few.id, ...count(1) },
    ],
    pictures: { people: 0, rooms: 0, files: 0, bytes: 0 },
  })
})

test('files older than RETENTION_FILES_MONTHS are deleted as if by their uploaders, and newer ones of other rooms stay', async () => {
  await clear()
  const [old, recent] = [await newRoom(svc, ['editor']), await newRoom(svc, ['editor'])]
  const [first, second] = [await uploadFor(old.editor), await uploadFor(recent.editor)]
  const message = await sendWith(old.editor, old.id, [first.id])
  await sendWith(recent.editor, recent.id, [second.id])
  await expect
    .poll(async () => (await svc.rows(`select from attachments where text_state = 'pending'`)).length, SOON)
    .toBe(0)
  await svc.rows(`update attachments set created_at = now() - interval '7 months' where id = $1`, [first.id])
  await svc.rows(`update attachments set created_at = now() - interval '5 months' where id = $1`, [second.id])
  const { position } = await old.changes(old.admin)

  const byRoom = { room: Number(old.id), files: 1, bytes: 'some words'.length, oldest: expect.any(String) }
  expect((await command(['expired'])).record).toEqual([byRoom])
  expect((await command(['expired', '--months', '4'])).record).toHaveLength(2)
  expect((await command(['expired'], { RETENTION_FILES_MONTHS: '' })).record).toEqual([])
  expect(await storedFiles(svc)).toHaveLength(2)
  await using without = await startJsonApi()
  expect(await without.host.files.deleteExpired()).toEqual({ deleted: 0 })

  const both = await Promise.all([svc.host.files.deleteExpired(), svc.host.files.deleteExpired()])
  expect(both.map(({ deleted }) => deleted).toSorted()).toEqual([0, 1])
  expect(await storedFiles(svc)).toEqual([second.name])
  expect((await download(svc, old.editor.token, first.id)).status).toBe(404)
  expect((await download(svc, recent.admin.token, second.id)).bytes.toString()).toBe('some words')
  const { changes } = await old.changes(old.admin, position)
  expect(changes.map(({ kind, subject }) => [kind, subject])).toEqual([
    ['attachments.deleted', first.id],
    ['room-messages.updated', message.one.id],
  ])
})

test('a person keeps no more files than allowed, however many uploads they begin at once, and others are not concerned', async () => {
  const person = await newPerson(svc)
  for (let count = 1; count < MAX_FILES; count++) await uploadFor(person, 'x')
  const last = await Promise.all([1, 2, 3].map(() => upload(svc, person.token, 'x')))

  expect(last.map(({ status }) => status).toSorted()).toEqual([200, 422, 422])
  const refused = await upload(svc, person.token, 'x')
  expect([refused.status, refused.text.includes(`A person keeps at most ${MAX_FILES} files.`)]).toEqual([422, true])
  expect((await svc.rows('select from attachments where uploader_id = $1', [person.id])).length).toBe(MAX_FILES)
  expect((await upload(svc, (await newPerson(svc)).token, 'x')).status).toBe(200)
})

test('many tiny files count for the blocks that they take', async () => {
  await using small = await startJsonApi({ ATTACHMENT_QUOTA: '10000' })
  const { token } = small.people.ada
  const statuses: number[] = []
  for (let count = 0; count < 3; count++) statuses.push((await upload(small, token, 'x')).status)

  expect(statuses).toEqual([200, 200, 422])
})

test('a text whose job was lost is read after all, and one that waits for its job is not planned twice', async () => {
  await clear()
  const person = await newPerson(svc)
  const { id } = await uploadFor(person)
  const state = async () => (await person.get(`/attachments/${id}`)).one.attributes['textState']
  await expect.poll(state, SOON).toBe('ready')
  await svc.rows('delete from attachment_texts')
  await svc.rows(`update attachments set text_state = 'pending'`)
  await svc.rows('delete from svc_jobs.job')

  expect(await svc.host.files.planLostTexts()).toEqual({ planned: 1 })
  await expect.poll(state, SOON).toBe('ready')
  expect(await svc.host.files.planLostTexts()).toEqual({ planned: 0 })
})

const square = PNG.toString('base64')

/** A person and a room with a picture each, and where the large ones are stored. */
async function withPictures() {
  const room = await newRoom(svc, ['editor'])
  await room.admin.update('rooms', room.id, { avatar: square })
  await room.editor.update('users', String(room.editor.id), { avatar: square })
  const [paths] = await svc.rows<{ ofRoom: string; ofPerson: string }>(
    'select r.avatar as "ofRoom", u.avatar as "ofPerson" from rooms r, users u where r.id = $1 and u.id = $2',
    [room.id, room.editor.id],
  )
  const look = async () => {
    const answers = await Promise.all(
      [`/req/rooms/picture/${room.id}`, `/req/profile/picture/${room.editor.id}`].flatMap((path) =>
        [path, `${path}?size=small`].map((sized) => svc.send('GET', sized, { token: room.editor.token })),
      ),
    )
    return answers.map(({ status }) => status)
  }
  return { room, look, ofRoom: paths?.ofRoom ?? '', ofPerson: paths?.ofPerson ?? '' }
}

const pictureFiles = () => readdir(join(svc.folder, 'files/avatars')).catch(() => [])

test('svc files rotate seals the keys of pictures anew, too, so that the earlier application key can be dropped', async () => {
  await clear()
  const { look, ofPerson } = await withPictures()
  // As one was stored before pictures were encrypted.
  const plain = await sharp(PNG).webp().toBuffer()
  await writeFile(join(svc.folder, 'files', ofPerson), plain)
  const both = { APP_KEY: `${NEWER}`, APP_PREVIOUS_KEYS: `${KEY}` }

  expect(await command(['rotate'], { APP_KEY: `${UNKNOWN}` })).toMatchObject({ exitCode: 1, record: { unknown: 3 } })
  expect(await command(['rotate'], both)).toMatchObject({
    exitCode: 1,
    record: { pictures: 2, renewed: 3, unknown: 1 },
  })
  await command(['rotate'], { ...both, APP_PREVIOUS_KEYS: `${KEY},${UNKNOWN}` })
  expect(await command(['rotate'], both)).toMatchObject({ exitCode: 0, record: { renewed: 0, unknown: 0 } })

  expect(await command(['verify'], { APP_KEY: `${NEWER}` })).toMatchObject({
    exitCode: 0,
    record: { pictures: 2, files: 4, read: 2 },
  })
  expect(await command(['verify'])).toMatchObject({ exitCode: 1, record: { 'unknown-key': 2 } })
  expect(await look()).toEqual([500, 500, 500, 500])
  await command(['rotate'], { APP_KEY: `${KEY}`, APP_PREVIOUS_KEYS: `${NEWER}` })
  expect(await look()).toEqual([200, 200, 200, 200])
  expect(await pictureFiles()).toHaveLength(4)
})

test('svc files rotate seals anew what front-end migrations keep for people who have not applied them', async () => {
  await clear()
  const people = await Promise.all(Array.from({ length: 3 }, () => newPerson(svc)))
  const sealed = people.map((_, n) => createVault(n === 0 ? `${UNKNOWN}` : `${KEY}`).seal(`{"n":${n}}`, USERDATA))
  await svc.rows(
    `with migrations as (insert into frontend_migrations (name) select 'm' || n from generate_series(1, 50) n returning id)
     insert into frontend_migration_userdata (user_id, migration_id, data)
     select person, m.id, data from unnest($1::int[], $2::text[]) as kept (person, data), migrations m`,
    [people.map(({ id }) => id), sealed],
  )
  const both = { APP_KEY: `${NEWER}`, APP_PREVIOUS_KEYS: `${KEY}` }

  expect(await command(['rotate'], both)).toMatchObject({
    exitCode: 1,
    record: { attachments: 0, migrationData: 150, renewed: 100, unknown: 50 },
  })
  await svc.rows('delete from frontend_migration_userdata where user_id = $1', [people[0]?.id])
  expect(await command(['rotate'], both)).toMatchObject({
    exitCode: 0,
    record: { migrationData: 100, renewed: 0, unknown: 0 },
  })
  const kept = await svc.rows<{ user: number; data: string }>(
    'select distinct user_id as user, data from frontend_migration_userdata',
  )
  const alone = createVault(`${NEWER}`)
  expect(new Set(kept.map(({ user, data }) => `${user} ${alone.open(data, USERDATA)}`))).toEqual(
    new Set([1, 2].map((n) => `${people[n]?.id} {"n":${n}}`)),
  )
  await svc.rows('delete from frontend_migrations')
})

test('svc files rotate counts the pictures that cannot be read, and renews the others', async () => {
  await clear()
  const { ofRoom, ofPerson } = await withPictures()
  const plain = await sharp(PNG).webp().toBuffer()
  for (const name of [ofRoom, ofPerson]) await writeFile(join(svc.folder, 'files', name), plain)
  const { storage } = svc.services
  const { renew } = storage
  // No file on a disk is unreadable to every user that a test may run as.
  Object.assign(storage, { renew: async (key: string) => (key === ofRoom ? 'unreadable' : renew(key)) })
  const rotation = await svc.host.files.rotate()
  Object.assign(storage, { renew })

  expect(rotation).toMatchObject({ pictures: 2, renewed: 1, unknown: 0, unreadable: 1 })
})

test('what svc files rotate writes lies among the pictures once it is whole, and what it left when killed is swept', async () => {
  await clear()
  const { ofRoom } = await withPictures()
  await writeFile(join(svc.folder, 'files', ofRoom), await sharp(PNG).webp().toBuffer())
  const touched = new Set<string | null>()
  const watcher = watch(join(svc.folder, 'files/avatars'), (_, name) => touched.add(name))
  expect(await svc.host.files.rotate()).toMatchObject({ renewed: 1 })
  await vi.waitUntil(() => touched.has(basename(ofRoom)), SOON)
  watcher.close()
  expect([...touched]).toEqual([basename(ofRoom)])

  const drafts = join(svc.folder, 'files/drafts')
  const [old, fresh] = [randomUUID(), randomUUID()]
  for (const name of [old, fresh]) await writeFile(join(drafts, name), 'half of a picture')
  const then = new Date(Date.now() - 2 * 60 * 60_000)
  await utimes(join(drafts, old), then, then)
  expect(await command(['verify'])).toMatchObject({ exitCode: 0, record: { pictures: 2, files: 4, listed: [] } })
  expect(await svc.host.files.sweep()).toMatchObject({ pictures: 1 })
  expect(await readdir(drafts)).toEqual([fresh])
})

test('svc files verify says which pictures are missing, belong to nobody or do not open, and stats counts them', async () => {
  await clear()
  const { room, ofRoom, ofPerson } = await withPictures()
  const { record } = await command(['stats'])
  expect(record.pictures).toMatchObject({ people: 1, rooms: 1, files: 4 })
  expect(record.pictures.bytes).toBeGreaterThan(4 * 100)

  await rm(join(svc.folder, 'files', ofRoom))
  await truncate(join(svc.folder, 'files', ofPerson), 250)
  const orphan = `avatars/${randomUUID()}.webp`
  await writeFile(join(svc.folder, 'files', orphan), 'left by somebody who was killed')
  const then = new Date(Date.now() - 2 * 60 * 60_000)
  await utimes(join(svc.folder, 'files', orphan), then, then)

  const verified = await command(['verify'])
  expect(verified).toMatchObject({ exitCode: 1, record: { pictures: 2, files: 4, read: 0 } })
  expect(verified.record.listed).toHaveLength(3)
  expect(verified.record.listed).toEqual(
    expect.arrayContaining([
      { finding: 'no-file', file: ofRoom, owner: `rooms/${room.id}` },
      { finding: 'damaged', file: ofPerson, owner: `users/${room.editor.id}` },
      { finding: 'no-owner', file: orphan, owner: null },
    ]),
  )
})
