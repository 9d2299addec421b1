import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
import { count, durationOrNone, httpAddress, isLoopback, list, networks, origins, secret } from './kinds.ts'

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
  DATA_DIR: z.string().default('.data').describe('Folder of the embedded database, generated secrets and files'),
  DATABASE_URL: z
    .url({ protocol: /^postgres(ql)?$/, error: 'must begin with postgresql://' })
    .optional()
    .describe('PostgreSQL 15 or newer; the embedded one when absent')
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
