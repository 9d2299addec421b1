import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3'
import { Problem } from '../../../routers/core/problems.ts'
import { assertKey, type Blobs, NoSuchBlob } from './blobs.ts'
import { createS3Client, type S3Access } from './s3-client.ts'
import { type Spooled, spool } from './spool.ts'

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
