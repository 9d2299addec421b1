import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readEnv } from '../../../server/config/env.ts'
import { openBlobs } from '../../../server/stores/blobs/open-blobs.ts'

export async function* splitBytes(bytes: Uint8Array, size: number) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export async function collectItems<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Opens a store of blobs in a folder of its own. */
export async function openStore(settings: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-files-'))
  const blobs = await openBlobs(readEnv({ DATA_DIR: folder, ...settings }))
  const close = async () => {
    await blobs.close()
    await rm(folder, { recursive: true, force: true })
  }
  return { folder, blobs, close }
}
