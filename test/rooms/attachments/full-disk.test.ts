import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { describe, expect, inject, test } from 'vitest'
import { type JsonApiApp, startJsonApi } from '../../kit/json-api/client.ts'
import { storedFiles, upload } from '../../kit/rooms/attachments.ts'

const run = promisify(execFile)

/** A service whose files lie on a small disk of their own. */
async function startOnSmallDisk() {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(inject('runFolder'), 'small-disk-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const files = join(folder, 'files')
  await mkdir(files)
  await run('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', files])
  resources.defer(async () => void (await run('umount', [files])))
  const svc = resources.use(await startJsonApi({ DATA_DIR: folder }))
  const kept = resources.move()
  return { svc, files, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

const namesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length

/** Not everybody may mount a disk; this one is gone with the program that mounts it. */
const canMount = await run('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).then(
  () => true,
  () => false,
)

describe.skipIf(!canMount)('where the disk of the files is full', () => {
  test('an upload is refused with 503 and a sentence, leaves nothing, and a smaller one is taken', async () => {
    await using small = await startOnSmallDisk()
    const { svc, files } = small
    const token = svc.people.ada.token

    const refused = await upload(svc, token, 'x'.repeat(400_000))

    expect([refused.status, detailOf(refused)]).toEqual([503, full])
    expect([await namesIn(files), await rowsOf(svc)]).toEqual([0, 0])
    expect((await upload(svc, token, 'x'.repeat(1000))).status).toBe(201)
    expect(await storedFiles(svc)).toHaveLength(1)
  })

  test('a picture is refused in the same way, and the one before it stays', async () => {
    await using small = await startOnSmallDisk()
    const { svc, files } = small
    const { id } = svc.people.ada
    const noise = {
      create: {
        width: 600,
        height: 600,
        channels: 3,
        background: '#fff',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    }
    const picture = (
      await sharp(noise as never)
        .png()
        .toBuffer()
    ).toString('base64')
    expect((await upload(svc, svc.people.ada.token, 'x'.repeat(250_000))).status).toBe(201)
    const before = await namesIn(files)

    const refused = await svc.ada.update('users', id, { avatar: picture })

    expect([refused.status, refused.errors[0]?.detail]).toEqual([503, full])
    expect(await namesIn(files)).toBe(before)
    expect((await svc.ada.get(`/users/${id}`)).one.attributes['avatar']).toBeNull()
  })
})

const full = 'There is no room left to store this. Please contact your administrator.'
const detailOf = ({ text }: { text: string }) => JSON.parse(text).errors[0].detail
const rowsOf = async ({ rows }: JsonApiApp) => (await rows('select from attachments')).length
