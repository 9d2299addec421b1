import { z } from 'zod'
import { timerDuration } from '../../../routers/ports/duration.ts'
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
