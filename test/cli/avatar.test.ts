import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { svcConsole } from '../../cli/programs.ts'
import { createLocalBlobs } from '../../server/stores/blobs/local-blobs.ts'
import { createSealedStorage } from '../../server/stores/sealed-storage.ts'
import { createVault } from '../../server/stores/vault.ts'
import { startApp } from '../kit/app.ts'
import { openHost, runCommand } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { queryRows } from '../kit/postgres-client.ts'

type Machine = Awaited<ReturnType<typeof openHost>>

const picture = (red: number) =>
  sharp({ create: { width: 300, height: 200, channels: 3, background: { r: red, g: 0, b: 0 } } })

async function put(machine: Machine, name: string, content: Uint8Array | string): Promise<string> {
  const path = join(machine.folder, name)
  await writeFile(path, content)
  return path
}

const replace = (machine: Machine, path: string) => machine.run(['hawki:update-avatar', path], { program: svcConsole })

const avatar = async (machine: Machine) => (await machine.rows('select avatar from users where id = 1'))[0]?.['avatar']

/** Lists the large pictures; each has a small one beside it. */
const listPictures = async (machine: Machine) => {
  const names = await readdir(join(machine.folder, 'files', 'avatars')).catch(() => [])
  return names.filter((name) => !name.endsWith('-small.webp'))
}

test.for<[name: string, content: () => Promise<Uint8Array | string> | string]>([
  ['a text', () => 'not an image'],
  ['nothing', () => ''],
  ['a drawing with a script', () => '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script/></svg>'],
  ['half an image', async () => (await picture(200).png().toBuffer()).subarray(0, 300)],
])('hawki:update-avatar refuses %s by the name of a PNG and changes nothing', async ([, content]) => {
  await using machine = await openHost()
  await replace(machine, await put(machine, 'real.png', await picture(200).png().toBuffer()))
  const before = await avatar(machine)

  const result = await replace(machine, await put(machine, 'fake.png', await content()))

  expect(result).toMatchObject({ exitCode: 2, stdout: '' })
  expect(result.stderr).toContain('PATH must be an image of the kinds')
  expect(await avatar(machine)).toBe(before)
  expect(await listPictures(machine)).toHaveLength(1)
})

test('hawki:update-avatar refuses a file that is not there, and a folder', async () => {
  await using machine = await openHost()

  expect(await replace(machine, join(machine.folder, 'none.png'))).toMatchObject({ exitCode: 1, stdout: '' })
  expect(await replace(machine, machine.folder)).toMatchObject({ exitCode: 1, stdout: '' })
  expect(await avatar(machine)).toBe(null)
})

test('hawki:update-avatar encodes any image anew, and keeps nothing else of the file', async () => {
  await using machine = await openHost()
  const image = await picture(200)
    .jpeg()
    .withExif({ IFD0: { Copyright: 'CANARY' } })
    .toBuffer()
  expect(image.includes('CANARY')).toBe(true)

  const result = await replace(machine, await put(machine, 'photo.txt', Buffer.concat([image, Buffer.from('CANARY')])))

  expect(result).toEqual({ exitCode: 0, stdout: 'The avatar of the AI user is replaced.\n', stderr: '' })
  const [name = ''] = await listPictures(machine)
  expect(await avatar(machine)).toBe(`avatars/${name}`)
  const vault = createVault((await readFile(join(machine.folder, 'app.key'), 'utf8')).trim())
  const kept = Buffer.from(
    await createSealedStorage(vault, createLocalBlobs(join(machine.folder, 'files'))).get(`avatars/${name}`),
  )
  expect(kept.includes('CANARY')).toBe(false)
  expect(await sharp(kept).metadata()).toMatchObject({ format: 'webp', width: 256, height: 256 })
})

test('hawki:update-avatar takes the place of the one before, by the short name too', async () => {
  await using machine = await openHost()
  await replace(machine, await put(machine, 'one.png', await picture(200).png().toBuffer()))
  const before = await avatar(machine)

  const path = await put(machine, 'two.png', await picture(50).png().toBuffer())
  const record = await machine.json('update-avatar', path)

  expect(record).toEqual({ avatar: await avatar(machine) })
  expect(record.avatar).not.toBe(before)
  expect(await listPictures(machine)).toHaveLength(1)
})

test("the picture in SVC_AVATAR becomes the AI user's only with a new database", async () => {
  await using machine = await openHost()
  await using database = await createEmptyDatabase()
  const [first, second] = [
    await put(machine, 'one.png', await picture(200).png().toBuffer()),
    await put(machine, 'two.png', await picture(50).png().toBuffer()),
  ]
  const env = { ...machine.env, DATABASE_URL: database.url }
  const readAvatars = () => queryRows(database.url, 'select avatar from users')

  expect(await runCommand(['migrate'], { env: { ...env, SVC_AVATAR: first } })).toMatchObject({ exitCode: 0 })
  const before = await readAvatars()
  expect(await listPictures(machine)).toEqual([expect.stringMatching(/\.webp$/)])
  expect(before).toEqual([{ avatar: `avatars/${(await listPictures(machine))[0]}` }])
  await runCommand(['migrate'], { env: { ...env, SVC_AVATAR: second } })

  expect(await readAvatars()).toEqual(before)
  expect(await listPictures(machine)).toHaveLength(1)
})

test('the picture in SVC_AVATAR is ignored where the database was made without one', async () => {
  await using machine = await openHost()
  const file = await put(machine, 'late.png', await picture(200).png().toBuffer())

  await using svc = await startApp({ SVC_AVATAR: file })

  expect(await svc.rows('select avatar from users where id = 1')).toEqual([{ avatar: null }])
})

test('an invalid picture in SVC_AVATAR creates no AI user until the next migrate', async () => {
  await using machine = await openHost()
  await using database = await createEmptyDatabase()
  const file = await put(machine, 'wrong.png', 'not an image')
  const env = { ...machine.env, DATABASE_URL: database.url, SVC_AVATAR: file }

  const refusal = await runCommand(['migrate'], { env })
  const left = await queryRows(database.url, 'select from users')
  await writeFile(file, await picture(200).png().toBuffer())

  expect([refusal.exitCode, left]).toEqual([1, []])
  expect(refusal.stderr).toContain('SVC_AVATAR: ')
  expect(await runCommand(['migrate'], { env })).toMatchObject({ exitCode: 0 })
  expect(await queryRows(database.url, 'select 1 as one from users where avatar is not null')).toHaveLength(1)
})
