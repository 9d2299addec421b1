import { randomUUID } from 'node:crypto'
import { watch } from 'node:fs'
import { readdir, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import sharp from 'sharp'
import { expect, test, vi } from 'vitest'
import { USERDATA } from '../../routers/ports/vault.ts'
import { createVault } from '../../server/stores/vault.ts'
import { KEY, NEWER, startMaintenance, UNKNOWN } from '../kit/files/maintenance.ts'
import { PNG, UNTIL_READ } from '../kit/rooms/attachments.ts'
import { createPerson, createRoom } from '../kit/rooms/messages.ts'
import { shareResource } from '../kit/share-resource.ts'

const upkeep = shareResource(startMaintenance)

const square = PNG.toString('base64')

/** Creates a person and a room with a picture each; returns the paths of the large ones. */
async function withPictures() {
  const { svc } = upkeep
  const room = await createRoom(svc, ['editor'])
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

const pictureFiles = () => readdir(join(upkeep.svc.folder, 'files/avatars')).catch(() => [])

test('svc files rotate seals the keys of pictures with the new application key', async () => {
  const { svc, clear, command } = upkeep
  await clear()
  const { look, ofPerson } = await withPictures()
  // This is the format of pictures before they were encrypted.
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

test('svc files rotate seals anew what front-end migrations keep for waiting people', async () => {
  const { svc, clear, command } = upkeep
  await clear()
  const people = await Promise.all(Array.from({ length: 3 }, () => createPerson(svc)))
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
  const { svc, clear } = upkeep
  await clear()
  const { ofRoom, ofPerson } = await withPictures()
  const plain = await sharp(PNG).webp().toBuffer()
  for (const name of [ofRoom, ofPerson]) await writeFile(join(svc.folder, 'files', name), plain)
  const { storage } = svc.services.files
  const { renew } = storage
  // The result is simulated, as root can read every file on a disk.
  Object.assign(storage, { renew: async (key: string) => (key === ofRoom ? 'unreadable' : renew(key)) })
  const rotation = await svc.host.files.rotate()
  Object.assign(storage, { renew })

  expect(rotation).toMatchObject({ pictures: 2, renewed: 1, unknown: 0, unreadable: 1 })
})

test('svc files rotate writes pictures atomically, and its leftovers are swept', async () => {
  const { svc, clear, command } = upkeep
  await clear()
  const { ofRoom } = await withPictures()
  await writeFile(join(svc.folder, 'files', ofRoom), await sharp(PNG).webp().toBuffer())
  const touched = new Set<string | null>()
  const watcher = watch(join(svc.folder, 'files/avatars'), (_, name) => touched.add(name))
  expect(await svc.host.files.rotate()).toMatchObject({ renewed: 1 })
  await vi.waitUntil(() => touched.has(basename(ofRoom)), UNTIL_READ)
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

test('svc files verify reports missing, orphaned and unreadable pictures, and stats counts them', async () => {
  const { svc, clear, command } = upkeep
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
