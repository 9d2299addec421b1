import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'

/** Bytes on the disk whose size and hash are known. */
export interface Spooled extends AsyncDisposable {
  size: number
  /** SHA-256, in hexadecimal digits. */
  hash: string
  read(): Readable
}

/** Takes bytes into a file without a name, so that nothing is left of it once it is disposed of or the process ends. */
export async function spool(folder: string, bytes: AsyncIterable<Uint8Array>): Promise<Spooled> {
  const file = await openNameless(folder)
  try {
    const hash = createHash('sha256')
    let size = 0
    for await (const part of bytes) {
      hash.update(part)
      size += part.length
      await file.writeFile(part)
    }
    return {
      size,
      hash: hash.digest('hex'),
      read: () => file.createReadStream({ start: 0, autoClose: false }),
      [Symbol.asyncDispose]: () => file.close(),
    }
  } catch (error) {
    await file.close()
    throw error
  }
}

async function openNameless(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `upload-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}
