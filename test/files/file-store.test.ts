import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Problem } from '../../routers/core/problems.ts'
import type { FileStore, StoredFile } from '../../routers/ports/files/file-store.ts'
import type { Blobs } from '../../server/stores/blobs/blobs.ts'
import { createFileStore } from '../../server/stores/file-store.ts'
import { createSealedStorage } from '../../server/stores/sealed-storage.ts'
import { createVault } from '../../server/stores/vault.ts'
import { collectItems, openStore, splitBytes } from '../kit/files/blob-store.ts'
import { startS3 } from '../kit/parts/s3.ts'

const [KEY, OTHER] = ['a key of thirty-two characters, or more', 'another key of thirty-two characters, too']
const CHUNK = 64 * 1024
const SEALED = CHUNK + 16

const chunkOf = (sealed: Buffer, at: number) => sealed.subarray(at * SEALED, (at + 1) * SEALED)

const drivers = {
  'a local folder': async () => ({ settings: {}, [Symbol.asyncDispose]: async () => {} }),
  'a bucket of an S3 server': startS3,
}

describe.for(Object.entries(drivers))('in %s', ([, start]) => {
  let server: Awaited<ReturnType<typeof start>>
  let folder: string
  let blobs: Blobs
  let close: () => Promise<void>
  let store: FileStore
  beforeAll(async () => {
    server = await start()
    ;({ folder, blobs, close } = await openStore(server.settings))
    store = createFileStore(createVault(KEY), blobs)
  })
  afterAll(async () => {
    await close()
    await server[Symbol.asyncDispose]()
  })

  const write = (bytes: Buffer, size = 10_000) => store.write(splitBytes(bytes, size))

  async function read(file: StoredFile, start?: number, end?: number, from = store): Promise<Buffer> {
    const range = start === undefined ? undefined : { start, end: end ?? file.bytes - 1 }
    return buffer(from.read(file, range))
  }

  const keyOf = ({ name }: StoredFile) => `sealed/${name.slice(0, 2)}/${name}`
  const sealedOf = (file: StoredFile) => buffer(blobs.get(keyOf(file)))

  /** Overwrites the stored bytes of a file. */
  async function replace(file: StoredFile, bytes: Buffer) {
    await blobs.remove(keyOf(file))
    await blobs.put(keyOf(file), splitBytes(bytes, 100_000))
  }

  const namesOf = async () => (await collectItems(store.list())).map(({ name }) => name)

  test('files whose bytes fail at once leave nothing behind', async () => {
    const before = await namesOf()
    async function* failAtOnce() {
      yield* splitBytes(Buffer.alloc(0), 1)
      throw new Problem('invalid')
    }

    const writes = await Promise.allSettled(Array.from({ length: 50 }, () => store.write(failAtOnce())))

    expect(writes.every(({ status }) => status === 'rejected')).toBe(true)
    expect(await namesOf()).toEqual(before)
  })

  test.for([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17])(
    'a file of %i bytes is read as written, whatever its pieces were',
    async (size) => {
      const bytes = randomBytes(size)
      for (const piece of [1 + Math.floor(size / 7), CHUNK, 10 * CHUNK]) {
        const file = await write(bytes, piece)

        expect(file.bytes).toBe(size)
        expect((await read(file)).equals(bytes)).toBe(true)
        expect((await sealedOf(file)).length).toBe(size + 16 * Math.max(1, Math.ceil(size / CHUNK)))
      }
    },
  )

  test('each part of a file is read by itself', async () => {
    const bytes = randomBytes(3 * CHUNK + 17)
    const file = await write(bytes)
    const edges = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK - 1, 3 * CHUNK, bytes.length - 1]

    for (const start of edges)
      for (const end of edges.filter((edge) => edge >= start))
        expect([start, end, (await read(file, start, end)).equals(bytes.subarray(start, end + 1))]).toEqual([
          start,
          end,
          true,
        ])
  })

  test("a file's stored bytes reveal neither content nor key, and are unique", async () => {
    const bytes = Buffer.from('The same words, again and again. '.repeat(5000))
    const [first, second] = [await write(bytes), await write(bytes)]
    const [one, other] = await Promise.all([first, second].map(sealedOf))

    expect(one?.includes('The same words')).toBe(false)
    expect(one?.equals(other as Buffer)).toBe(false)
    expect(first.sealedKey).toMatch(/^v1\./)
  })

  test.for<[string, (sealed: Buffer, other: Buffer) => Buffer]>([
    ['one bit is another', (sealed) => sealed.with(100_000, (sealed[100_000] ?? 0) ^ 1) as Buffer],
    [
      'two chunks changed places',
      (sealed) => Buffer.concat([chunkOf(sealed, 1), chunkOf(sealed, 0), sealed.subarray(2 * SEALED)]),
    ],
    [
      'a chunk is there twice',
      (sealed) => Buffer.concat([chunkOf(sealed, 0), chunkOf(sealed, 0), sealed.subarray(2 * SEALED)]),
    ],
    ['the last chunk is missing', (sealed) => sealed.subarray(0, 2 * SEALED)],
    ['the end is missing', (sealed) => sealed.subarray(0, -1)],
    ['a chunk is missing', (sealed) => Buffer.concat([chunkOf(sealed, 0), sealed.subarray(2 * SEALED)])],
    ['all but a byte is missing', (sealed) => sealed.subarray(0, 1)],
    ['it is that of another file', (_, other) => other],
  ])('a file is not read to its end where %s', async ([, change]) => {
    const bytes = randomBytes(2 * CHUNK + 100)
    const [file, other] = [await write(bytes), await write(randomBytes(bytes.length))]
    await replace(file, change(await sealedOf(file), await sealedOf(other)))

    await expect(read(file)).rejects.toThrow()
  })

  test('a file that was cut to whole chunks fails, even with its size changed', async () => {
    const file = await write(randomBytes(3 * CHUNK))
    await replace(file, (await sealedOf(file)).subarray(0, SEALED))

    await expect(read({ ...file, bytes: CHUNK })).rejects.toThrow()
  })

  test('a file is read with an earlier application key while that is known', async () => {
    const bytes = randomBytes(1000)
    const file = await write(bytes)

    expect(
      (await read(file, undefined, undefined, createFileStore(createVault(OTHER, [KEY]), blobs))).equals(bytes),
    ).toBe(true)
    await expect(async () =>
      read(file, undefined, undefined, createFileStore(createVault(OTHER), blobs)),
    ).rejects.toThrow(/APP_KEY/)
  })

  test('a file that breaks off is not kept', async () => {
    const before = await namesOf()
    async function* breakOff() {
      yield randomBytes(3 * CHUNK)
      throw new Error('gone')
    }

    await expect(store.write(breakOff())).rejects.toThrow('gone')
    expect(await namesOf()).toEqual(before)
    expect(await readdir(join(folder, 'cache')).catch(() => [])).toEqual([])
  })

  test('removed files are gone, and to remove them again does nothing', async () => {
    const files = await Promise.all(Array.from({ length: 40 }, () => write(randomBytes(10))))
    const names = files.map(({ name }) => name)

    await store.remove(names)
    await store.remove(names)

    const left = await namesOf()
    expect(left.filter((name) => names.includes(name))).toEqual([])
  })

  test('a name that is none leads nowhere', async () => {
    for (const name of ['../../secret', '', '/etc/passwd', 'a'.repeat(36)]) {
      await expect(store.remove([name])).rejects.toThrow('no name')
      await expect(async () =>
        read({ name, bytes: 1, sealedKey: (await write(randomBytes(1))).sealedKey }),
      ).rejects.toThrow('no name')
    }
    expect(await readdir(tmpdir())).not.toContain('secret')
  })

  test('stored files are listed in the order of names with their times', async () => {
    const files = await Promise.all(Array.from({ length: 20 }, () => write(randomBytes(10))))
    await blobs.put('sealed/no-file-of-ours', splitBytes(Buffer.from('x'), 1))
    const listed = await collectItems(store.list())

    expect(listed.map(({ name }) => name)).toEqual(expect.arrayContaining(files.map(({ name }) => name)))
    expect(listed.map(({ name }) => name)).toEqual(listed.map(({ name }) => name).sort())
    for (const { modifiedAt } of listed) expect(Math.abs(Date.now() - modifiedAt.getTime())).toBeLessThan(600_000)
    expect(await collectItems(blobs.list('nothing-here/'))).toEqual([])
  })

  test('a missing file fails only for its reader', async () => {
    const file = await write(randomBytes(100))
    await store.remove([file.name])

    const failure = await read(file).catch((error: Error) => error)
    expect(failure).toBeInstanceOf(Error)
    expect(failure).not.toBeInstanceOf(Problem)
    expect((await read(await write(Buffer.from('still here')))).toString()).toBe('still here')
  })

  test('a part behind the end of a cut file fails only its reader', async () => {
    const file = await write(randomBytes(3 * CHUNK))
    await replace(file, (await sealedOf(file)).subarray(0, SEALED))

    const failure = await read(file, 2 * CHUNK).catch((error: Error) => error)
    expect(failure).toBeInstanceOf(Error)
    expect(failure).not.toBeInstanceOf(Problem)
  })

  test('a reader who stops half way releases the file', async () => {
    const file = await write(randomBytes(40 * CHUNK))
    for (let times = 0; times < 20; times++) {
      const reading = store.read(file)
      await once(reading, 'readable')
      reading.destroy()
    }

    expect((await read(file)).length).toBe(40 * CHUNK)
  })

  test('pictures lie under their keys, are read whole and go', async () => {
    const pictures = createSealedStorage(createVault(KEY), blobs)
    await pictures.put('avatars/one.webp', Buffer.from('a picture'))

    expect(Buffer.from(await pictures.get('avatars/one.webp')).toString()).toBe('a picture')
    await pictures.delete('avatars/one.webp')
    await pictures.delete('avatars/one.webp')
    await expect(pictures.get('avatars/one.webp')).rejects.toThrow()
    expect([await pictures.check('avatars/one.webp'), await pictures.renew('avatars/one.webp')]).toEqual([
      'no-file',
      'gone',
    ])
  })

  test('the check says that files can be written, and leaves none', async () => {
    await blobs.check()

    const keys = (await collectItems(blobs.list(''))).map(({ key }) => key)
    expect(keys.filter((key) => key.startsWith('health'))).toEqual([])
  })
})

test('a picture that the disk cannot read is not taken for a missing one', async () => {
  const { folder, blobs, close } = await openStore({})
  const pictures = createSealedStorage(createVault(KEY), blobs)
  // Reading a directory fails for every user, even for root.
  await mkdir(join(folder, 'files/avatars/one.webp'), { recursive: true })

  expect([await pictures.check('avatars/one.webp'), await pictures.renew('avatars/one.webp')]).toEqual([
    'damaged',
    'unreadable',
  ])
  await close()
})

test('a stored file stays when its key is stored again', async () => {
  const { blobs, close } = await openStore({})
  await blobs.put('sealed/one', splitBytes(Buffer.from('first'), 1))

  await expect(blobs.put('sealed/one', splitBytes(Buffer.from('second'), 1))).rejects.toThrow('EEXIST')

  expect((await buffer(blobs.get('sealed/one'))).toString()).toBe('first')
  await close()
})

test('a local file can be read by the service alone', async () => {
  const { folder, blobs, close } = await openStore({})
  const { name } = await createFileStore(createVault(KEY), blobs).write(splitBytes(Buffer.from('x'), 1))

  expect((await stat(join(folder, 'files/sealed', name.slice(0, 2), name))).mode & 0o777).toBe(0o600)
  await close()
})
