/** Where bytes wait to be put in the place of others; what a process leaves there that is killed, no row names. */
export const DRAFTS = 'drafts/'

/** The folder of the archives of people's data, which lie there until they expire; no backup has them. */
export const EXPORTS = 'exports/'

/** There is none, its key was sealed with an unknown application key, or it cannot be read as it was written. */
export type PictureFault = 'no-file' | 'unknown-key' | 'damaged'

/** `unknown` where no known application key opens it, `gone` where there is no file, `unreadable` where the disk cannot read it. */
type Renewal = 'renewed' | 'current' | 'unknown' | 'gone' | 'unreadable'

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
  /** Seals the key of a picture with the current application key. */
  renew(key: string): Promise<Renewal>
}

/** A stored object, as a listing names it. */
export interface BlobEntry {
  key: string
  /** Its size as it is stored. */
  bytes: number
  modifiedAt: Date
}
