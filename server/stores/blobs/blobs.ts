import { Problem } from '../../../routers/core/problems.ts'
import type { ByteRange } from '../../../routers/ports/files/file-store.ts'
import type { BlobEntry } from '../../../routers/ports/files/storage.ts'

/** Stores bytes under keys such as `avatars/9b2f….webp`. Drivers: a local folder, and a bucket of an S3-compatible service. */
export interface Blobs {
  /** Stores a stream; resolves once the bytes are durable. If the stream fails, nothing is stored. */
  put(key: string, bytes: AsyncIterable<Uint8Array>): Promise<void>
  /** Replaces the bytes under a key atomically: readers see the old or the new bytes, even after a crash. */
  replace(key: string, bytes: Uint8Array): Promise<void>
  /** Returns the bytes; opens them only when they are read. Throws `BlobNotFound` if the key does not exist. */
  get(key: string, range?: ByteRange): AsyncIterable<Buffer>
  /** Removes a blob; does nothing if the key does not exist. */
  remove(key: string): Promise<void>
  /** Lists the blobs below a folder such as `sealed/`, ordered by key. */
  list(folder: string): AsyncIterable<BlobEntry>
  /** Checks the storage by writing and deleting a small blob; throws if that fails. */
  check(): Promise<void>
  close(): Promise<void>
}

/** Says that a key does not exist. Any other error means that the blob could not be read, perhaps only temporarily. */
export class BlobNotFound extends Error {}

/** Key of the blob that a health check writes and deletes. */
export const HEALTH_CHECK_KEY = 'health-check'

/** Returns true for the blob of a health check, also under the key that earlier versions gave it in a bucket. */
export const isHealthCheck = (key: string) => key === HEALTH_CHECK_KEY || key === 'health/check'

const KEY_PATTERN = /^[a-z0-9][\w-]*(?:\/[\w-][\w.-]*)*$/

/** Throws if a key could lead out of the folder or bucket. */
export function assertKey(key: string): void {
  if (!KEY_PATTERN.test(key) || key.length > 200) throw new Error('this is no name of a file')
}

/** Compares keys by their bytes, which for the characters of keys is the order of `<`. */
export const compareKeys = (a: string, b: string) => (a < b ? -1 : Number(a > b))

/** Error codes of a disk that takes no more: full, quota exceeded, file too large, or read-only. */
const diskErrorCodes = /^(ENOSPC|EDQUOT|EFBIG|EROFS)$/

/** Throws a problem that says that the storage is full; rethrows any other error. */
export function rethrowDiskError(cause: unknown): never {
  if (!diskErrorCodes.test(String((cause as { code?: unknown }).code))) throw cause
  throw new Problem('unavailable', {
    detail: 'The storage is full. Please contact your administrator.',
    cause,
  })
}
