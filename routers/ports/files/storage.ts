/**
 * Folder of replacement files before they are moved into place; no row refers to files that a killed process left here.
 */
export const DRAFTS = 'drafts/'

/** Folder of the archives of personal data, which stay until they expire and are in no backup. */
export const EXPORTS = 'exports/'

/** Folder of the copies of conversations that links lead to. */
export const SHARED_COPIES = 'shared/'

/** Folder of the files of knowledge. */
export const KNOWLEDGE = 'knowledge/'

/** Faults of a picture: no file, a key sealed with an unknown application key, or damaged content. */
export type PictureFault = 'no-file' | 'unknown-key' | 'damaged'

/**
 * Result of a renewal: `unknown` if no known application key opens it, `gone` if the file is missing, `unreadable` if
 * the disk cannot read it.
 */
type Renewal = 'renewed' | 'current' | 'unknown' | 'gone' | 'unreadable'

/** Keeps pictures encrypted under keys such as `avatars/9b2f….webp`. Drivers: a local folder, and a bucket. */
export interface Storage {
  put(key: string, bytes: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array>
  /** Deletes the picture, if it exists. */
  delete(key: string): Promise<void>
  /** Lists a folder such as `avatars/`, sorted by key. */
  list(folder: string): AsyncIterable<BlobEntry>
  /** Reads a whole picture; undefined if it is intact. */
  check(key: string): Promise<PictureFault | undefined>
  /** Seals the key of a picture with the current application key. */
  renew(key: string): Promise<Renewal>
}

/** A stored object in a listing. */
export interface BlobEntry {
  key: string
  /** Stored size. */
  bytes: number
  modifiedAt: Date
}
