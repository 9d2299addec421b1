import type { ByteRange } from '../../../routers/ports/files/file-store.ts'
import type { BlobEntry } from '../../../routers/ports/files/storage.ts'

/** Keeps bytes under keys such as `avatars/9b2f….webp`. Drivers: a local folder, and a bucket of an S3-compatible service. */
export interface Blobs {
  /** Settles once the bytes would survive a loss of power; where they break off, none are kept. */
  put(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>
  /** Puts other bytes in the place of those under a key: whoever reads sees these or those, also after a crash. */
  replace(key: string, bytes: Uint8Array): Promise<void>
  /** Opens nothing before it is read: who asked for it may be gone. Fails with `NoSuchBlob` where there is nothing under the key. */
  get(key: string, range?: ByteRange): AsyncIterable<Buffer>
  /** Does nothing where there is nothing under the key. */
  remove(key: string): Promise<void>
  /** What is below a folder such as `sealed/`, in the order of the keys. */
  list(folder: string): AsyncIterable<BlobEntry>
  /** Writes a little and deletes it; throws where that cannot be done. */
  check(): Promise<void>
  close(): Promise<void>
}

/** There is nothing under a key. Every other error says that what is there cannot be read, perhaps only now. */
export class NoSuchBlob extends Error {}

const KEY = /^[a-z0-9][\w-]*(?:\/[\w-][\w.-]*)*$/

/** Throws for what could lead out of the folder or bucket. */
export function assertKey(key: string): void {
  if (!KEY.test(key) || key.length > 200) throw new Error('this is no name of a file')
}

/** Order of the bytes, which for keys is that of their characters. */
export const byKey = (a: string, b: string) => (a < b ? -1 : Number(a > b))
