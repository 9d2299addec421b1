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
    .describe('Sets the mode. `production` refuses placeholders, the embedded database and the demo model.')
    .meta({ priority: 'may' }),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(3000)
    .describe('Sets the port that the service listens on. 0 chooses a free one.')
    .meta({ priority: 'may' }),
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Sets the address that the service listens on. `0.0.0.0` means all addresses.')
    .meta({ priority: 'may' }),
  BASE_URL: httpAddress
    .optional()
    .describe(
      'Sets the public address of the service. Development accepts only an address of this machine. If absent, it is `http://HOST:PORT`.',
    )
    .meta({ priority: 'must' }),
  TRUSTED_PROXIES: networks
    .describe('Lists the addresses or networks of proxies whose X-Forwarded headers are trusted, separated by commas.')
    .meta({ priority: 'may' }),
  CORS_ORIGINS: origins
    .describe(
      'Lists the origins whose pages can call the API with an access token, separated by commas, such as `https://app.example.org`.',
    )
    .meta({ priority: 'may' }),
  METRICS_PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe('Opens a port of its own for `/metrics`, without a token. 0 chooses a free one.')
    .meta({ priority: 'may' }),
  METRICS_HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Sets the address that METRICS_PORT listens on.')
    .meta({ priority: 'may' }),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpAddress
    .optional()
    .describe(
      'Sets the address of an OpenTelemetry collector that accepts OTLP over HTTP. If absent, nothing is exported.',
    )
    .meta({ priority: 'may' }),
  OTEL_EXPORTER_OTLP_HEADERS: headers
    .describe(
      'Lists the headers that are sent to the collector, separated by commas, such as `authorization=Bearer%20…`.',
    )
    .meta({ priority: 'may', secret: true }),
  OTEL_SERVICE_NAME: z
    .string()
    .min(1)
    .max(120)
    .default('svc')
    .describe('Sets the name of the service at the collector.')
    .meta({ priority: 'may' }),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(0.1)
    .describe('Sets the share of requests and jobs whose traces are exported, from 0 to 1. All log lines are exported.')
    .meta({ priority: 'tuning' }),
  TRACEPARENT_HOSTS: webHosts
    .describe(
      'Lists the hosts of AI providers and tool servers that receive `traceparent`, with their ports if they have any, separated by commas.',
    )
    .meta({ priority: 'may' }),
  DATA_DIR: z
    .string()
    .default('.data')
    .describe('Names the folder of the embedded database, generated secrets and files.')
    .meta({ priority: 'may' }),
  DATABASE_URL: postgresAddress
    .optional()
    .describe(
      'Sets the address of a PostgreSQL database, version 15 or newer. If absent, development starts an embedded one.',
    )
    .meta({ priority: 'must', secret: true }),
  DATABASE_DIRECT_URL: postgresAddress
    .optional()
    .describe(
      'Sets the address of the same database without a pooler such as PgBouncer in transaction mode. Migrations, commands and long tasks use it. If absent, they use DATABASE_URL.',
    )
    .meta({ priority: 'may', secret: true }),
  DATABASE_POOL: count(10, 2)
    .describe('Limits the database connections of one process for requests. Long tasks have two more.')
    .meta({ priority: 'tuning' }),
  DATABASE_PER_PERSON: count(3, 1)
    .describe(
      'Limits the requests of one person that use the database at the same time in one process. The others wait, or are refused with 429.',
    )
    .meta({ priority: 'tuning' }),
  DATABASE_STATEMENT_TIMEOUT: timerDuration
    .prefault('10s')
    .describe('Limits the time of one statement of a request. Then the request is refused with 503.')
    .meta({ priority: 'tuning' }),
  DATABASE_LOCK_TIMEOUT: timerDuration
    .prefault('8s')
    .describe(
      'Limits the time that a request waits for the changes of others. It must be longer than DATABASE_IDLE_TIMEOUT.',
    )
    .meta({ priority: 'tuning' }),
  DATABASE_IDLE_TIMEOUT: timerDuration
    .prefault('5s')
    .describe(
      'Sets the time after which PostgreSQL ends the idle transaction of a frozen or disconnected process, for which others wait.',
    )
    .meta({ priority: 'tuning' }),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, error: 'must begin with redis:// or rediss://' })
    .optional()
    .describe(
      'Sets the address of a Redis or Valkey server that all replicas share. If absent, one process keeps this state in memory.',
    )
    .meta({ priority: 'may', secret: true }),
  REDIS_SENTINELS: hosts
    .describe(
      'Lists the Sentinels that know the primary, separated by commas, such as `sentinel-1:26379`. The host of REDIS_URL is then the name of the primary.',
    )
    .meta({ priority: 'may' }),
  REDIS_SENTINEL_PASSWORD: z
    .string()
    .min(1)
    .optional()
    .describe('Sets the password of the Sentinels.')
    .meta({ priority: 'may', secret: true }),
  APP_KEY: secret
    .optional()
    .describe('Sets the key that encrypts stored secrets. If absent, development generates one in DATA_DIR.')
    .meta({ priority: 'must', secret: true }),
  APP_PREVIOUS_KEYS: list
    .describe('Lists earlier values of APP_KEY, separated by commas. They decrypt stored secrets and encrypt none.')
    .meta({ priority: 'may', secret: true }),
  EXTENSIONS: list
    .describe('Lists the paths of modules with listeners, health checks, config blocks and tools, separated by commas.')
    .meta({ priority: 'may' }),
  HEALTH_DEEP_EVERY: count(10, 1)
    .describe('Runs the deep check for one of this number of requests to `/health`.')
    .meta({ priority: 'tuning' }),
  DRAIN_DELAY: durationOrNone
    .optional()
    .describe(
      'Sets the time for which a stopping service still serves requests while it reports that it is not ready. If absent, it is 5s in production and 0 in development.',
    )
    .meta({ priority: 'tuning' }),
  SHUTDOWN_TIMEOUT: timerDuration
    .prefault('30s')
    .describe('Sets the time that a stopping service waits for running requests after DRAIN_DELAY.')
    .meta({ priority: 'tuning' }),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Sets the lowest level that is logged. If absent, commands log errors only, to standard error.')
    .meta({ priority: 'may' }),
  LOG_FORMAT: z
    .enum(['words', 'json'])
    .optional()
    .describe('Sets the format of log lines. If absent, it is `words` at a terminal and else `json`.')
    .meta({ priority: 'may' }),
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

/** Settings of names on the wire, the AI user, languages, link previews and frontend migrations. */
export const systemShape = {
  BRAND: z
    .string()
    .regex(/^[a-z][a-z0-9]{0,19}$/, 'must have 1 to 20 small letters and digits, a letter first')
    .default('svc')
    .describe('Sets the word by which front ends know this service. It is part of addresses, cookies, ids and titles.')
    .meta({ priority: 'may' }),
  JSONAPI_MEMBER_CASE: z
    .enum(['camel', 'snake'])
    .default('camel')
    .describe(
      'Sets the case of member names in the JSON:API: `modelId`, or `model_id` for front ends of earlier versions.',
    )
    .meta({ priority: 'may' }),
  SVC_NAME: z
    .string()
    .max(120)
    .default('svc')
    .describe('Sets the display name of the AI user. It is used once, when the database is created.')
    .meta({ priority: 'may' }),
  SVC_USERNAME: z
    .string()
    .max(120)
    .toLowerCase()
    .default('svc')
    .describe('Sets the username of the AI user. It is used once, when the database is created.')
    .meta({ priority: 'may' }),
  AI_MENTION_HANDLE: z
    .string()
    .regex(/^@?[\p{L}\p{N}_-]{1,40}$/u, 'must be one word, such as @svc')
    .transform((handle) => handle.replace(/^@/, ''))
    .optional()
    .describe(
      'Sets the handle that calls the AI user in a room, with or without its `@`. If absent, it is made of SITE_NAME: `@uni-chat` for Uni Chat. The front end of the service understands BRAND, too.',
    )
    .meta({ priority: 'may' }),
  SVC_AVATAR: z
    .string()
    .optional()
    .describe(
      'Names the image file of the AI user. It is used once, when the database is created; `update-avatar` replaces it later. If absent, a built-in image is used.',
    )
    .meta({ priority: 'may' }),
  APP_LOCALE: z
    .enum(availableLocales)
    .default('en_US')
    .describe('Sets the language for callers who ask for no available language.')
    .meta({ priority: 'may' }),
  LABELS_DIR: z
    .string()
    .optional()
    .describe(
      'Names the folder of files such as `de_DE.json`, `chat_de_DE.json` and `custom_de_DE.json`, whose flat or nested texts replace the built-in ones.',
    )
    .meta({ priority: 'may' }),
  AUDIT_ADDRESSES: z
    .enum(['full', 'network', 'none'])
    .default('network')
    .describe(
      "Sets the part of a caller's address that the audit log keeps: all of it, its network (/24, or /48 of IPv6), or none.",
    )
    .meta({ priority: 'may' }),
  RETENTION_AUDIT_MONTHS: count(12, 1, 1200)
    .describe('Sets the number of months after which entries of the audit log are deleted.')
    .meta({ priority: 'may' }),
  LINK_PREVIEWS_PER_MINUTE: count(180, 1)
    .describe('Limits the link previews, with their pictures and icons, that a person can request per minute.')
    .meta({ priority: 'tuning' }),
  LINK_PREVIEW_PORTS: ports
    .describe('Lists the only ports of web sites that link previews read, separated by commas.')
    .meta({ priority: 'tuning' }),
  LINK_PREVIEW_NETWORKS: networks
    .describe(
      'Lists private addresses or networks that link previews read nevertheless, separated by commas. Everybody who is signed in can then read what these sites show without a login.',
    )
    .meta({ priority: 'may' }),
  DEPRECATION_SUNSET: z.iso
    .date('must be a day such as 2027-06-30')
    .transform((day) => new Date(day))
    .optional()
    .describe('Sets the day on which deprecated routes are removed. Their responses announce it.')
    .meta({ priority: 'may' }),
  ANNOUNCEMENTS: z
    .string()
    .optional()
    .describe(
      'Names the folder of the texts of announcements, with one folder for each. If absent, it is `announcements` in DATA_DIR.',
    )
    .meta({ priority: 'may' }),
  FRONTEND_MIGRATIONS: z
    .string()
    .optional()
    .describe('Names the folder of frontend migrations.')
    .meta({ priority: 'may' }),
}
