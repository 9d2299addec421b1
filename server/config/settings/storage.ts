import { z } from 'zod'
import { httpAddress } from './setting-types.ts'

/** Settings of the storage of files and pictures. */
export const storageShape = {
  STORAGE_DISK: z
    .enum(['local_file_storage', 's3'])
    .default('local_file_storage')
    .describe(
      'Chooses the store of files and pictures. `local_file_storage` is DATA_DIR, which replicas must share; `s3` is a bucket of an S3-compatible service.',
    )
    .meta({ priority: 'may' }),
  S3_ENDPOINT: httpAddress
    .optional()
    .describe('Sets the address of the S3-compatible service. If absent, it is the address of Amazon.')
    .meta({ priority: 'may' }),
  S3_REGION: z
    .string()
    .min(1)
    .default('us-east-1')
    .describe('Sets the region of the bucket.')
    .meta({ priority: 'may' }),
  S3_DEFAULT_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe('Names the bucket, which must exist.')
    .meta({ priority: 'may' }),
  S3_ACCESS_KEY: z
    .string()
    .min(3)
    .optional()
    .describe('Sets the id of the access key for the bucket.')
    .meta({ priority: 'may', secret: true }),
  S3_SECRET_KEY: z
    .string()
    .min(3)
    .optional()
    .describe('Sets the secret of the access key for the bucket.')
    .meta({ priority: 'may', secret: true }),
}

const requiredForS3 = ['S3_DEFAULT_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'] as const

export const storageRules = requiredForS3.map((name) =>
  z.refine<Record<string, unknown>>((env) => env['STORAGE_DISK'] !== 's3' || env[name] !== undefined, {
    path: [name],
    message: 'is required by STORAGE_DISK=s3',
    when: () => true,
  }),
)
