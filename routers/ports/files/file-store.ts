import type { Readable } from 'node:stream'

/** A stored file, with the key that decrypts it. */
export interface StoredFile {
  /** A UUID. */
  name: string
  /** Size before encryption. */
  bytes: number
  /** The file's own key, sealed with the application key. */
  sealedKey: string
}

/** A byte range; both ends are inclusive. */
export interface ByteRange {
  start: number
  end: number
}

/** Stores files encrypted, each under its own key. Driver: a local folder. */
export interface FileStore {
  /** Writes a stream with little memory. Nothing is kept if the stream fails. */
  write(content: AsyncIterable<Uint8Array>): Promise<StoredFile>
  /** Reads a file or a range of it. Fails if the bytes were modified. */
  read(file: StoredFile, range?: ByteRange): Readable
  /** Removes files; ignores missing ones. */
  remove(names: readonly string[]): Promise<void>
  /** Lists all files, in any order. */
  list(): AsyncIterable<{ name: string; modifiedAt: Date }>
}
