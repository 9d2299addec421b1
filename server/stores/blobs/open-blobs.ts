import { join, resolve } from 'node:path'
import type { Env } from '../../config/settings.ts'
import type { Blobs } from './blobs.ts'
import { localBlobs } from './local-blobs.ts'

/** What STORAGE_DISK names: the folder `files` in DATA_DIR, or a bucket. */
export async function openBlobs(env: Env): Promise<Blobs> {
  const { STORAGE_DISK, DATA_DIR, S3_ENDPOINT, S3_REGION, S3_ACCESS_KEY, S3_SECRET_KEY, S3_DEFAULT_BUCKET } = env
  if (STORAGE_DISK !== 's3') return localBlobs(resolve(join(DATA_DIR, 'files')))
  // Loaded on demand: nobody else needs the many modules of this client.
  const { s3Blobs } = await import('./s3-blobs.ts')
  return s3Blobs({
    endpoint: S3_ENDPOINT,
    region: S3_REGION,
    accessKeyId: S3_ACCESS_KEY ?? '',
    secretAccessKey: S3_SECRET_KEY ?? '',
    bucket: S3_DEFAULT_BUCKET ?? '',
    spoolFolder: resolve(join(DATA_DIR, 'cache')),
  })
}
