import { z } from 'zod'
import { httpAddress } from './kinds.ts'

/** Settings of where files and pictures are kept. */
export const storageShape = {
  STORAGE_DISK: z
    .enum(['local_file_storage', 's3'])
    .default('local_file_storage')
    .describe(
      'Where files and pictures are kept: `local_file_storage` is DATA_DIR, which replicas then share; `s3` is a bucket of an S3-compatible service',
    ),
  S3_ENDPOINT: httpAddress.optional().describe('Address of the S3-compatible service; that of Amazon when absent'),
  S3_REGION: z.string().min(1).default('us-east-1').describe('Region of the bucket'),
  S3_DEFAULT_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .describe('The bucket, which must be there already'),
  S3_ACCESS_KEY: z.string().min(3).optional().describe('Id of the access key of the bucket').meta({ secret: true }),
  S3_SECRET_KEY: z.string().min(3).optional().describe('Secret of the access key of the bucket').meta({ secret: true }),
}

const needed = ['S3_DEFAULT_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'] as const

export const storageRules = needed.map((name) =>
  z.refine<Record<string, unknown>>((env) => env['STORAGE_DISK'] !== 's3' || env[name] !== undefined, {
    path: [name],
    message: 'is required by STORAGE_DISK=s3',
    when: () => true,
  }),
)
