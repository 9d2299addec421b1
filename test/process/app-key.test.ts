import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readOrCreateAppKey } from '../../server/stores/vault.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-key-'))
})
afterEach(() => rm(folder, { recursive: true }))

test('processes that start at the same time get the same new key', async () => {
  const keys = await Promise.all(Array.from({ length: 5 }, () => readOrCreateAppKey(folder)))

  expect(new Set(keys)).toEqual(new Set([await readFile(join(folder, 'app.key'), 'utf8')]))
  expect(keys[0]).toMatch(/^\S{64}$/)
  expect(await readdir(folder)).toEqual(['app.key'])
})

test.for(['', '\n'])('an empty key file is refused instead of used as a key: %j', async (content) => {
  const file = join(folder, 'app.key')
  await writeFile(file, content)

  await expect(readOrCreateAppKey(folder)).rejects.toThrow(`${file} is empty: restore it`)
})
