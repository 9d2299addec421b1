import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { availableLocales } from '../../../routers/ports/locales.ts'
import {
  count,
  durationOrNone,
  headers,
  hosts,
  httpAddress,
  isLoopback,
  list,
  networks,
  origins,
  ports,
  secret,
  webHosts,
} from './setting-types.ts'

const postgresAddress = z.url({ protocol: /^postgres(ql)?$/, error: 'must begin with postgresql://' })

/** Settings of the process: its address, its stores, its keys, and how it stops. */
export const processShape = {
  NODE_ENV: z
    .enum(['development', 'production'])
    .default('development')
    .describe('`production` refuses placeholders, the embedded database and the demo model'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(3000).describe('Port to listen on; 0 takes a free one'),
  HOST: z.string().default('127.0.0.1').describe('Address to listen on; `0.0.0.0` for all'),
  BASE_URL: httpAddress
    .optional()
    .describe('Public address of the service, in development one of this machine; `http://HOST:PORT` when absent'),
  TRUSTED_PROXIES: networks.describe(
    'Addresses or networks of proxies whose X-Forwarded headers are trusted, comma separated',
  ),
  CORS_ORIGINS: origins.describe(
    'Origins whose pages may call the API with an access token, comma separated, such as `https://app.example.org`',
  ),
  METRICS_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('Port of its own for `/metrics`, without a token; 0 takes a free one'),
  METRICS_HOST: z.string().default('127.0.0.1').describe('Address on which METRICS_PORT listens'),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpAddress
    .optional()
    .describe('Address of a collector of OpenTelemetry that takes OTLP over HTTP; nothing is collected when absent'),
  OTEL_EXPORTER_OTLP_HEADERS: headers
    .describe('Headers of what the collector is sent, such as `authorization=Bearer%20…`, comma separated')
    .meta({ secret: true }),
  OTEL_SERVICE_NAME: z.string().min(1).max(120).default('svc').describe('Name of the service at the collector'),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe('Share of the requests and jobs whose traces are collected, from 0 to 1; lines of the log always are'),
  TRACEPARENT_HOSTS: webHosts.describe(
    'Hosts of AI providers and tool servers that are sent `traceparent`, with their ports if they have any, comma separated',
  ),
  DATA_DIR: z.string().default('.data').describe('Folder of the embedded database, generated secrets and files'),
  DATABASE_URL: postgresAddress
    .optional()
    .describe('PostgreSQL 15 or newer; the embedded one when absent')
    .meta({ secret: true }),
  DATABASE_DIRECT_URL: postgresAddress
    .optional()
    .describe(
      'The same database without the pooler that DATABASE_URL leads to, such as PgBouncer in transaction mode: for migrations, commands and long tasks',
    )
    .meta({ secret: true }),
  DATABASE_POOL: count(10, 2).describe(
    'Largest number of database connections for requests; long tasks beside them have two more',
  ),
  DATABASE_PER_PERSON: count(3, 1).describe(
    'How many requests of one person use the database at the same time in a process; the others wait, or are refused with 429',
  ),
  DATABASE_STATEMENT_TIMEOUT: timerDuration
    .prefault('10s')
    .describe('How long a statement of a request may run; then it is refused with 503'),
  DATABASE_LOCK_TIMEOUT: timerDuration
    .prefault('8s')
    .describe('How long a request waits for what others are changing; longer than DATABASE_IDLE_TIMEOUT'),
  DATABASE_IDLE_TIMEOUT: timerDuration
    .prefault('5s')
    .describe(
      'After how long PostgreSQL ends the transaction of a process that is frozen or cut off, for which others wait',
    ),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must begin with redis:// or rediss://' })
    .optional()
    .describe('Redis or Valkey, shared by all replicas; in process when absent')
    .meta({ secret: true }),
  REDIS_SENTINELS: hosts.describe(
    'Sentinels that know the primary, comma separated, such as `sentinel-1:26379`; the host of REDIS_URL is then the name by which they watch it',
  ),
  REDIS_SENTINEL_PASSWORD: z.string().min(1).optional().describe('Password of the Sentinels').meta({ secret: true }),
  APP_KEY: secret
    .optional()
    .describe('Key that seals secrets at rest; generated into DATA_DIR in development')
    .meta({ secret: true }),
  APP_PREVIOUS_KEYS: list
    .describe('Earlier values of APP_KEY, comma separated: still opened, never used to seal')
    .meta({ secret: true }),
  EXTENSIONS: list.describe('Modules with listeners, health checks, config blocks and tools, comma separated paths'),
  HEALTH_DEEP_EVERY: count(10, 1).describe('One in so many requests to /health runs the deep check'),
  DRAIN_DELAY: durationOrNone
    .optional()
    .describe(
      'How long a stopping service still serves requests while readiness is 503; when absent: 5s in production, 0 in development',
    ),
  SHUTDOWN_TIMEOUT: timerDuration
    .prefault('30s')
    .describe('How long a stopping service waits for running requests, after DRAIN_DELAY'),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Lowest level that is logged; of commands, which log to standard error, only errors are when absent'),
  LOG_FORMAT: z
    .enum(['words', 'json'])
    .optional()
    .describe('How lines of the log are written; when absent: in words at a terminal, else as JSON'),
}

export const processRules = [
  z.refine<Record<string, unknown>>(
    (env) => [env['REDIS_SENTINELS'] ?? []].flat().length === 0 || env['REDIS_URL'] !== undefined,
    {
      path: ['REDIS_SENTINELS'],
      message: 'needs REDIS_URL, whose host is the name of the primary',
      when: () => true,
    },
  ),
  z.refine<Record<string, unknown>>((env) => !env['DATABASE_DIRECT_URL'] || env['DATABASE_URL'] !== undefined, {
    path: ['DATABASE_DIRECT_URL'],
    message: 'needs DATABASE_URL, the address of the pooler',
    when: () => true,
  }),
  z.refine<Record<string, unknown>>(
    ({ NODE_ENV, BASE_URL }) =>
      NODE_ENV === 'production' || typeof BASE_URL !== 'string' || !URL.canParse(BASE_URL) || isLoopback(BASE_URL),
    {
      path: ['BASE_URL'],
      message:
        'development is for this machine alone: set NODE_ENV=production, or an address such as http://localhost:3000',
      when: () => true,
    },
  ),
]

/** Settings of the storage of files and pictures. */
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

const requiredForS3 = ['S3_DEFAULT_BUCKET', 'S3_ACCESS_KEY', 'S3_SECRET_KEY'] as const

export const storageRules = requiredForS3.map((name) =>
  z.refine<Record<string, unknown>>((env) => env['STORAGE_DISK'] !== 's3' || env[name] !== undefined, {
    path: [name],
    message: 'is required by STORAGE_DISK=s3',
    when: () => true,
  }),
)

/** Settings of names on the wire, the AI user, languages, link previews and frontend migrations. */
export const systemShape = {
  BRAND: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,19}$/, 'must have 1 to 20 small letters and digits, a letter first')
    .default('svc')
    .describe('Word by which front ends know this service: in addresses, cookies, ids and titles'),
  JSONAPI_MEMBER_CASE: z
    .enum(['camel', 'snake'])
    .default('camel')
    .describe(
      'How members of the JSON:API are written: `modelId`, or `model_id` as front ends of earlier versions expect them',
    ),
  SVC_NAME: z.string().max(120).default('svc').describe('Display name of the AI user, fixed when the database is made'),
  SVC_USERNAME: z
    .string()
    .max(120)
    .toLowerCase()
    .default('svc')
    .describe('Username of the AI user, fixed when the database is made'),
  AI_MENTION_HANDLE: z
    .string()
    .regex(/^@?[\p{L}\p{N}_-]{1,40}$/u, 'must be one word, such as @svc')
    .transform((handle) => handle.replace(/^@/, ''))
    .optional()
    .describe('What calls the AI user in a room, with or without its `@`; the brand word when absent'),
  SVC_AVATAR: z
    .string()
    .optional()
    .describe(
      'Image file of the AI user, fixed when the database is made; only `update-avatar` replaces it; a built-in one when absent',
    ),
  APP_LOCALE: z
    .enum(availableLocales)
    .default('en_US')
    .describe('Language for callers who ask for none of the available ones'),
  LABELS_DIR: z
    .string()
    .optional()
    .describe(
      'Folder with files such as `de_DE.json`, `chat_de_DE.json` and `custom_de_DE.json`, whose texts, flat or nested, replace the built-in ones',
    ),
  AUDIT_ADDRESSES: z
    .enum(['full', 'network', 'none'])
    .default('network')
    .describe(
      'How much of the address of a caller the audit log keeps: all, its network (/24, or /48 of IPv6), or none',
    ),
  RETENTION_AUDIT_MONTHS: count(12, 1, 1200).describe('After how many months entries of the audit log are removed'),
  LINK_PREVIEWS_PER_MINUTE: count(180, 1).describe(
    'How often a minute a person may ask for what a link leads to, for its picture or its icon',
  ),
  LINK_PREVIEW_PORTS: ports.describe('The only ports of web sites whose links have a preview, comma separated'),
  LINK_PREVIEW_NETWORKS: networks.describe(
    'Private addresses or networks whose sites have a preview nevertheless, comma separated; everybody signed in can read there what needs no login',
  ),
  DEPRECATION_SUNSET: z.iso
    .date('must be a day such as 2027-06-30')
    .transform((day) => new Date(day))
    .optional()
    .describe('Day on which deprecated routes are removed, which their answers announce'),
  ANNOUNCEMENTS: z
    .string()
    .optional()
    .describe(
      'Folder with the texts of announcements, one folder for each; `announcements` in the data folder when absent',
    ),
  FRONTEND_MIGRATIONS: z.string().optional().describe('Folder with the files of frontend migrations'),
}
