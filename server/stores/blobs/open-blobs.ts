import { join, resolve } from 'node:path'
import type { Env } from '../../config/settings.ts'
import type { Blobs } from './blobs.ts'
import { createLocalBlobs } from './local-blobs.ts'

/** Opens the storage that STORAGE_DISK names: the folder `files` in DATA_DIR, or a bucket. */
export async function openBlobs(env: Env): Promise<Blobs> {
  const { STORAGE_DISK, DATA_DIR, S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY, S3_SECRET_KEY, S3_DEFAULT_BUCKET } = env
  if (STORAGE_DISK !== 's3') return createLocalBlobs(resolve(join(DATA_DIR, 'files')))
  // The S3 client has many modules and is loaded only if it is needed.
  const { createS3Blobs: s3Blobs } = await import('./s3-blobs.ts')
  return s3Blobs({
    endpoint: S3_ENDPOINT,
    region: S3_REGION,
    accessKeyId: S3_ACCESS_KEY ?? '',
    secretAccessKey: S3_SECRET_KEY ?? '',
    bucket: S3_DEFAULT_BUCKET ?? '',
    spoolFolder: resolve(join(DATA_DIR, 'cache')),
  })
}
