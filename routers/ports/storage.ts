import type { BlobEntry } from './blob-entry.ts'

/** What is wrong with a stored picture: there is none, its key was sealed with an unknown application key, or it was changed. */
export type PictureFault = 'no-file' | 'unknown-key' | 'damaged'

/** Keeps pictures encrypted under keys such as `avatars/9b2f….webp`. Drivers: a local folder, and a bucket. */
export interface Storage {
  put(key: string, bytes: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array>
  /** Does nothing where there is nothing under the key. */
  delete(key: string): Promise<void>
  /** What is below a folder such as `avatars/`, in the order of the keys. */
  list(folder: string): AsyncIterable<BlobEntry>
  /** Reads a picture to its end; nothing where it is as it was written. */
  check(key: string): Promise<PictureFault | undefined>
  /** Seals the key of a picture with the current application key; `unknown` where no known one opens it. */
  renew(key: string): Promise<'renewed' | 'current' | 'unknown' | 'gone'>
}
