import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import type { Dispatcher } from 'undici'
import { makeFolder } from '../../../routers/core/make-folder.ts'
import { Problem } from '../../../routers/core/problems.ts'
import { createHttpClient, type HttpClient } from '../../net/http-client.ts'
import { readBeginning } from '../../net/response-body.ts'
import { assertKey, BlobNotFound, type Blobs, HEALTH_CHECK_KEY, rethrowDiskError } from './blobs.ts'

export interface S3Options extends S3Access {
  bucket: string
  /** A local folder for uploads until they are complete. */
  spoolFolder: string
}

/**
 * Creates a blob storage in an S3 bucket. Bytes are first spooled to an unlinked file on the disk, so that the request has
 * their size and hash: an interrupted upload never reaches the bucket, and no upload is held in memory.
 */
export function createS3Blobs({ bucket: Bucket, spoolFolder, ...access }: S3Options): Blobs {
  const { s3, close } = createS3Client(access)
  const toObject = (Key: string) => {
    assertKey(Key)
    return { Bucket, Key }
  }

  const blobs: Blobs = {
    async put(key, bytes) {
      const object = toObject(key)
      await using spooled = await spoolToDisk(spoolFolder, bytes)
      await s3.send(buildSignedPut(object, spooled)).catch(rethrowS3Error)
    },
    replace: (key, bytes) => blobs.put(key, toChunks(bytes)),
    async *get(key, range) {
      const Range = range && `bytes=${range.start}-${range.end}`
      const { Body } = await s3.send(new GetObjectCommand({ ...toObject(key), Range })).catch(rethrowS3Error)
      yield* readAll(Body as AsyncIterable<Buffer>)
    },
    async remove(key) {
      await s3.send(new DeleteObjectCommand(toObject(key))).catch(rethrowS3Error)
    },
    list: (folder) => listObjects(s3, { Bucket, Prefix: folder }),
    async check() {
      await blobs.put(HEALTH_CHECK_KEY, toChunks(Buffer.from('.')))
      await blobs.remove(HEALTH_CHECK_KEY)
    },
    close,
  }
  return blobs
}

/** Builds the command that stores a spooled file. It is signed with the file's hash, because the SDK does not hash streams. */
function buildSignedPut(object: { Bucket: string; Key: string }, spooled: SpooledFile): PutObjectCommand {
  const command = new PutObjectCommand({ ...object, Body: spooled.read(), ContentLength: spooled.size })
  command.middlewareStack.add(
    (next) => (args) => {
      Object.assign((args.request as { headers: object }).headers, { 'x-amz-content-sha256': spooled.hash })
      return next(args)
    },
    { step: 'build' },
  )
  return command
}

/** Lists all objects with a key prefix, page by page. */
async function* listObjects(s3: S3Client, location: { Bucket: string; Prefix: string }): ReturnType<Blobs['list']> {
  let ContinuationToken: string | undefined
  do {
    const page = await s3.send(new ListObjectsV2Command({ ...location, ContinuationToken })).catch(rethrowS3Error)
    for (const { Key: key = '', Size: bytes = 0, LastModified: modifiedAt = new Date() } of page.Contents ?? [])
      yield { key, bytes, modifiedAt }
    ContinuationToken = page.NextContinuationToken
  } while (ContinuationToken !== undefined)
}

async function* toChunks(bytes: Uint8Array) {
  yield bytes
}

/** Reads a body; converts its errors like those of requests. */
async function* readAll(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* body
  } catch (error) {
    rethrowS3Error(error)
  }
}

/** Throws an error about the object if it is missing or too short; otherwise reports the storage as unavailable. */
function rethrowS3Error(cause: unknown): never {
  const name = cause instanceof S3ServiceException && cause.name
  if (name === 'NoSuchKey') throw new BlobNotFound('there is no such file in the bucket', { cause })
  if (name === 'InvalidRange') throw new Error('there is no such part of the file in the bucket', { cause })
  throw new Problem('unavailable', { cause })
}

interface S3Access {
  /** Address of the S3-compatible service; Amazon's if absent. */
  endpoint?: string | undefined
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** Milliseconds until a connection must be open. */
  connectTimeout?: number
  /** Milliseconds to wait for each further byte. */
  byteTimeout?: number
}

/** Largest response in bytes; it is larger than the largest file. */
const MAX_RESPONSE = 2 * 1024 ** 3

/** Creates an S3 client over the service's client for outbound requests. Closing it ends all connections. */
function createS3Client({ endpoint, region, connectTimeout = 5000, byteTimeout = 30_000, ...keys }: S3Access) {
  const http = createHttpClient({ networkPolicy: 'configured', connectTimeout, byteTimeout, maxBytes: MAX_RESPONSE })
  const s3 = new S3Client({
    region,
    credentials: keys,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    // S3-compatible services may not support the newer checksums. The chunks of files are authenticated anyway.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Our client for outbound requests does not support `Expect: 100-continue`.
    expectContinueHeader: false,
    // The SDK would log to the console; failures are reported by errors.
    logger: silentLogger,
    requestHandler: { handle: (request: OutgoingRequest, options?: SendOptions) => send(http, request, options) },
  })
  return { s3, close: () => http.close() }
}

const ignore = () => {}
const silentLogger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

/** The members of an SDK request that are sent. */
interface OutgoingRequest {
  method: string
  protocol: string
  hostname: string
  port?: number
  path: string
  query: Record<string, string | string[] | null>
  headers: Record<string, string>
  body?: Readable
}

interface SendOptions {
  abortSignal?: AbortSignal
}

async function send(http: HttpClient, request: OutgoingRequest, { abortSignal }: SendOptions = {}) {
  const { method, headers, body = null } = request
  const response = await http.send(buildUrl(request), {
    method: method as Dispatcher.HttpMethod,
    headers,
    body,
    signal: abortSignal ?? null,
  })
  // The SDK reads every body but that of a file into memory.
  if (method !== 'GET' || response.statusCode >= 300)
    response.body = Readable.from(readBeginning(response.body), { objectMode: false })
  return { response }
}

function buildUrl({ protocol, hostname, port, path, query }: OutgoingRequest): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) for (const each of [value ?? ''].flat()) search.append(name, each)
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}?${search}`
}

/** Bytes on the disk with their size and hash. */
interface SpooledFile extends AsyncDisposable {
  size: number
  /** SHA-256 in hexadecimal. */
  hash: string
  read(): Readable
}

/** Writes a stream to an unlinked file, which disappears once it is closed or the process ends. */
async function spoolToDisk(folder: string, bytes: AsyncIterable<Uint8Array>): Promise<SpooledFile> {
  const file = await openUnlinkedFile(folder).catch(rethrowDiskError)
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
    rethrowDiskError(error)
  }
}

async function openUnlinkedFile(folder: string): Promise<FileHandle> {
  await makeFolder(folder, 0o700)
  const path = join(folder, `upload-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}
