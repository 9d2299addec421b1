import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { describe, expect, inject, test } from 'vitest'
import { type JsonApiApp, startJsonApi } from '../../kit/json-api/client.ts'
import { listStoredFiles, upload } from '../../kit/rooms/attachments.ts'

const run = promisify(execFile)

/** A small disk of its own; only the administrator of a machine may mount one. */
async function mountSmallDisk(files: string, kib: number): Promise<() => Promise<void>> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'tmpfs', files])
  return async () => void (await run('umount', [files]))
}

/** A file size limit of this process, like a quota; a process that handles its signal gets a write error. */
async function boundFiles(_files: string, kib: number) {
  const setBound = (bytes: string) => run('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:`])
  const goOn = () => {}
  process.on('SIGXFSZ', goOn)
  await setBound(String(kib * 1024))
  return async () => {
    await setBound('unlimited')
    process.off('SIGXFSZ', goOn)
  }
}

/** A service whose files have little space. */
async function startOnSmallDisk(limitRoom: typeof mountSmallDisk, kib: number) {
  await using resources = new AsyncDisposableStack()
  const folder = await mkdtemp(join(inject('runFolder'), 'small-disk-'))
  resources.defer(() => rm(folder, { recursive: true }))
  const files = join(folder, 'files')
  await mkdir(files)
  resources.defer(await limitRoom(files, kib))
  const svc = resources.use(await startJsonApi({ DATA_DIR: folder }))
  const kept = resources.move()
  return { svc, files, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

const namesIn = async (folder: string) =>
  (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).length

/** Mounting may be forbidden; this disk is unmounted with its program. */
const canMount = await run('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).then(
  () => true,
  () => false,
)

describe.each([
  ...(canMount ? [{ where: 'the disk of the files is full', limitRoom: mountSmallDisk }] : []),
  { where: 'a file may not grow any more', limitRoom: boundFiles },
])('where $where', ({ limitRoom }) => {
  test('an upload is refused with 503 and leaves nothing, and a smaller one succeeds', async () => {
    await using small = await startOnSmallDisk(limitRoom, 256)
    const { svc, files } = small
    const token = svc.people.ada.token

    const refused = await upload(svc, token, 'x'.repeat(400_000))

    expect([refused.status, detailOf(refused)]).toEqual([503, full])
    expect([await namesIn(files), await countRows(svc)]).toEqual([0, 0])
    expect((await upload(svc, token, 'x'.repeat(1000))).status).toBe(201)
    expect(await listStoredFiles(svc)).toHaveLength(1)
  })

  test('a picture is refused in the same way, and leaves nothing', async () => {
    await using small = await startOnSmallDisk(limitRoom, 4)
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

    const refused = await svc.ada.update('users', id, { avatar: picture })

    expect([refused.status, refused.errors[0]?.detail]).toEqual([503, full])
    expect(await namesIn(files)).toBe(0)
    expect((await svc.ada.get(`/users/${id}`)).one.attributes['avatar']).toBeNull()
  })
})

const full = 'The storage is full. Please contact your administrator.'
const detailOf = ({ text }: { text: string }) => JSON.parse(text).errors[0].detail
const countRows = async ({ rows }: JsonApiApp) => (await rows('select from attachments')).length
