import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { FileStore, StoredFile } from '../../routers/ports/file-store.ts'
import { createFileStore } from '../../server/stores/file-store.ts'
import { createVault } from '../../server/stores/vault.ts'

const [KEY, OTHER] = ['a key of thirty-two characters, or more', 'another key of thirty-two characters, too']
const CHUNK = 64 * 1024
const SEALED = CHUNK + 16

let folder: string
let store: FileStore
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-files-'))
  store = createFileStore(createVault(KEY), folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function* inParts(bytes: Buffer, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const write = (bytes: Buffer, size = 10_000) => store.write(inParts(bytes, size))

async function read(file: StoredFile, start?: number, end?: number, from = store): Promise<Buffer> {
  const range = start === undefined ? undefined : { start, end: end ?? file.bytes - 1 }
  return Buffer.concat(await allOf(from.read(file, range) as AsyncIterable<Buffer>))
}

async function allOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

const pathOf = ({ name }: StoredFile) => join(folder, 'files/sealed', name.slice(0, 2), name)

test.for([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 17])(
  'a file of %i bytes is read as it was written, in whatever pieces it came',
  async (size) => {
    const bytes = randomBytes(size)
    for (const piece of [1 + Math.floor(size / 7), CHUNK, 10 * CHUNK]) {
      const file = await write(bytes, piece)

      expect(file.bytes).toBe(size)
      expect((await read(file)).equals(bytes)).toBe(true)
      expect((await stat(pathOf(file))).size).toBe(size + 16 * Math.max(1, Math.ceil(size / CHUNK)))
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

test('nothing of a file or its key can be read on the disk, and no two files have the same bytes there', async () => {
  const bytes = Buffer.from('The same words, again and again. '.repeat(5000))
  const [first, second] = [await write(bytes), await write(bytes)]
  const [one, other] = await Promise.all([first, second].map((file) => readFile(pathOf(file))))

  expect(one?.includes('The same words')).toBe(false)
  expect(one?.equals(other as Buffer)).toBe(false)
  expect(first.sealedKey).toMatch(/^v1\./)
  expect((await stat(pathOf(first))).mode & 0o777).toBe(0o600)
})

const chunkOf = (sealed: Buffer, at: number) => sealed.subarray(at * SEALED, (at + 1) * SEALED)

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
  ['all is missing', () => Buffer.alloc(0)],
  ['it is that of another file', (_, other) => other],
])('a file is not read to its end where %s', async ([, change]) => {
  const bytes = randomBytes(2 * CHUNK + 100)
  const [file, other] = [await write(bytes), await write(randomBytes(bytes.length))]
  await writeFile(pathOf(file), change(await readFile(pathOf(file)), await readFile(pathOf(other))))

  await expect(read(file)).rejects.toThrow()
})

test('a file that was cut to whole chunks is not taken for a shorter one, even by who changes its size in the database', async () => {
  const file = await write(randomBytes(3 * CHUNK))
  await truncate(pathOf(file), SEALED)

  await expect(read({ ...file, bytes: CHUNK })).rejects.toThrow()
})

test('a file is read with an earlier application key as long as that is known', async () => {
  const bytes = randomBytes(1000)
  const file = await write(bytes)

  expect(
    (await read(file, undefined, undefined, createFileStore(createVault(OTHER, [KEY]), folder))).equals(bytes),
  ).toBe(true)
  await expect(async () =>
    read(file, undefined, undefined, createFileStore(createVault(OTHER), folder)),
  ).rejects.toThrow(/APP_KEY/)
})

test('a file that breaks off is not kept', async () => {
  const before = await allOf(store.list())
  async function* broken() {
    yield randomBytes(3 * CHUNK)
    throw new Error('gone')
  }

  await expect(store.write(broken())).rejects.toThrow('gone')
  expect(await allOf(store.list())).toHaveLength(before.length)
})

test('removed files are gone, and to remove them again does nothing', async () => {
  const files = await Promise.all(Array.from({ length: 40 }, () => write(randomBytes(10))))
  const names = files.map(({ name }) => name)

  await store.remove(names)
  await store.remove(names)

  const left = (await allOf(store.list())).map(({ name }) => name)
  expect(left.filter((name) => names.includes(name))).toEqual([])
})

test('a name that is none leads nowhere', async () => {
  for (const name of ['../../secret', '', '/etc/passwd', 'a'.repeat(36)]) {
    await expect(store.remove([name])).rejects.toThrow('no name')
    await expect(async () =>
      read({ name, bytes: 1, sealedKey: (await write(randomBytes(1))).sealedKey }),
    ).rejects.toThrow('no name')
  }
  expect(await readdir(folder)).toEqual(['files'])
})
