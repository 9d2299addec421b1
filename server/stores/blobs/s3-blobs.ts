import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import type { Dispatcher } from 'undici'
import { Problem } from '../../../routers/core/problems.ts'
import { createHttpClient, type HttpClient } from '../../net/http-client.ts'
import { assertKey, type Blobs, NoSuchBlob } from './blobs.ts'
import { explainFullDisk } from './full-disk.ts'

export interface S3Options extends S3Access {
  bucket: string
  /** A local folder in which bytes wait until all of them are there. */
  spoolFolder: string
}

/** A key that only the check writes. */
const CHECK = 'health/check'

/**
 * Objects in a bucket. Bytes go through a nameless file on the disk first: the request that then stores them has their size and
 * hash, so that nothing of an upload that breaks off ever reaches the bucket, and no memory holds it.
 */
export function s3Blobs({ bucket: Bucket, spoolFolder, ...access }: S3Options): Blobs {
  const { s3, close } = createS3Client(access)
  const at = (Key: string) => {
    assertKey(Key)
    return { Bucket, Key }
  }

  const blobs: Blobs = {
    async put(key, bytes) {
      const object = at(key)
      await using spooled = await spool(spoolFolder, bytes)
      await s3.send(signedPut(object, spooled)).catch(explain)
    },
    replace: (key, bytes) => blobs.put(key, inOnePiece(bytes)),
    async *get(key, range) {
      const Range = range && `bytes=${range.start}-${range.end}`
      const { Body } = await s3.send(new GetObjectCommand({ ...at(key), Range })).catch(explain)
      yield* readAll(Body as AsyncIterable<Buffer>)
    },
    async remove(key) {
      await s3.send(new DeleteObjectCommand(at(key))).catch(explain)
    },
    list: (folder) => listObjects(s3, { Bucket, Prefix: folder }),
    async check() {
      await blobs.put(CHECK, inOnePiece(Buffer.from('.')))
      await blobs.remove(CHECK)
    },
    close,
  }
  return blobs
}

/** Puts what is spooled, signed by its hash: a stream would not be signed otherwise. */
function signedPut(object: { Bucket: string; Key: string }, spooled: Spooled): PutObjectCommand {
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

/** All objects whose keys begin so, page by page. */
async function* listObjects(s3: S3Client, of: { Bucket: string; Prefix: string }): ReturnType<Blobs['list']> {
  let ContinuationToken: string | undefined
  do {
    const page = await s3.send(new ListObjectsV2Command({ ...of, ContinuationToken })).catch(explain)
    for (const { Key: key = '', Size: bytes = 0, LastModified: modifiedAt = new Date() } of page.Contents ?? [])
      yield { key, bytes, modifiedAt }
    ContinuationToken = page.NextContinuationToken
  } while (ContinuationToken !== undefined)
}

async function* inOnePiece(bytes: Uint8Array) {
  yield bytes
}

/** A stream that fails half way does so as a request does. */
async function* readAll(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  try {
    yield* body
  } catch (error) {
    explain(error)
  }
}

/** Is the matter of whoever runs the service, unless the object alone is at fault: it is not there, or too short. */
function explain(cause: unknown): never {
  const name = cause instanceof S3ServiceException && cause.name
  if (name === 'NoSuchKey') throw new NoSuchBlob('there is no such file in the bucket', { cause })
  if (name === 'InvalidRange') throw new Error('there is no such part of the file in the bucket', { cause })
  throw new Problem('unavailable', { cause })
}

interface S3Access {
  /** Where an S3-compatible service is; that of Amazon where absent. */
  endpoint?: string | undefined
  region: string
  accessKeyId: string
  secretAccessKey: string
  /** In milliseconds: to connect, and to wait for each further byte. */
  connectTimeout?: number
  byteTimeout?: number
}

/** More than the largest file. */
const MAX_RESPONSE = 2 * 1024 ** 3

/** Asks through the one client for outbound requests. Closing it ends all connections. */
function createS3Client({ endpoint, region, connectTimeout = 5000, byteTimeout = 30_000, ...keys }: S3Access) {
  const http = createHttpClient({ networkPolicy: 'configured', connectTimeout, byteTimeout, maxBytes: MAX_RESPONSE })
  const s3 = new S3Client({
    region,
    credentials: keys,
    ...(endpoint !== undefined && { endpoint, forcePathStyle: true }),
    // Services other than Amazon's may not know the newer checksums; the chunks of files have their own.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    // Our client for outbound requests does not wait for an answer in between.
    expectContinueHeader: false,
    // It would write to the console; what fails is told by errors.
    logger: silent,
    requestHandler: { handle: (request: OutgoingRequest, options?: SendOptions) => send(http, request, options) },
  })
  return { s3, close: () => http.close() }
}

const nothing = () => {}
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** As much of a request as is sent, and of its options as is heeded. */
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
  const response = await http.send(buildAddress(request), {
    method: method as Dispatcher.HttpMethod,
    headers,
    body,
    signal: abortSignal ?? null,
  })
  return { response }
}

function buildAddress({ protocol, hostname, port, path, query }: OutgoingRequest): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) for (const each of [value ?? ''].flat()) search.append(name, each)
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}?${search}`
}

/** Bytes on the disk whose size and hash are known. */
interface Spooled extends AsyncDisposable {
  size: number
  /** SHA-256, in hexadecimal digits. */
  hash: string
  read(): Readable
}

/** Takes bytes into a file without a name, so that nothing is left of it once it is disposed of or the process ends. */
async function spool(folder: string, bytes: AsyncIterable<Uint8Array>): Promise<Spooled> {
  const file = await openNameless(folder).catch(explainFullDisk)
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
    explainFullDisk(error)
  }
}

async function openNameless(folder: string): Promise<FileHandle> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `upload-${randomUUID()}`)
  const file = await open(path, 'wx+', 0o600)
  await rm(path, { force: true })
  return file
}
