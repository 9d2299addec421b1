import type { Readable } from 'node:stream'

/** A file as it is stored, with what opens it. */
export interface StoredFile {
  /** A UUID. */
  name: string
  /** The size before encryption. */
  bytes: number
  /** The file's own key, sealed with the application key. */
  sealedKey: string
}

/** The first and the last byte of a part of a file. */
export interface ByteRange {
  start: number
  end: number
}

/** Keeps files encrypted, each under a key of its own. Driver: a local folder. */
export interface FileStore {
  /** Takes bytes as they come and holds few of them at a time. Where they break off with an error, nothing is kept. */
  write(content: AsyncIterable<Uint8Array>): Promise<StoredFile>
  /** The bytes of a file, or a part of them. Fails where they are not those that were written. */
  read(file: StoredFile, range?: ByteRange): Readable
  /** Those that are not there are passed over. */
  remove(names: readonly string[]): Promise<void>
  /** Everything there is, in any order. */
  list(): AsyncIterable<{ name: string; modifiedAt: Date }>
}
