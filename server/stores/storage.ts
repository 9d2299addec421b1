import { join, resolve } from 'node:path'
import { Disk } from 'flydrive'
import { FSDriver } from 'flydrive/drivers/fs'
import type { Storage } from '../../routers/ports/storage.ts'

/** Files in a local folder; keys that would leave it are refused. */
export function createStorage(dataDir: string): Storage {
  const disk = new Disk(new FSDriver({ location: resolve(join(dataDir, 'files')), visibility: 'private' }))
  return {
    put: (key, bytes) => disk.put(key, bytes),
    get: (key) => disk.getBytes(key),
    delete: (key) => disk.delete(key),
  }
}
