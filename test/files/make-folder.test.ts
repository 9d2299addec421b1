import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeFolder } from '../../routers/core/make-folder.ts'

test('many who make folders below one missing parent all succeed', async () => {
  const root = await mkdtemp(join(tmpdir(), 'svc-folders-'))
  try {
    for (let round = 0; round < 20; round++) {
      const paths = Array.from({ length: 20 }, (_, n) => join(root, `${round}`, 'a', 'b', `${n % 3}`))
      await Promise.all(paths.map((path) => makeFolder(path)))
      expect((await Promise.all(paths.map((path) => stat(path)))).every((each) => each.isDirectory())).toBe(true)
    }
  } finally {
    await rm(root, { recursive: true })
  }
})

test('a folder that its parent refuses is refused', async () => {
  await expect(makeFolder('/proc/svc/data')).rejects.toThrow('ENOENT')
})
