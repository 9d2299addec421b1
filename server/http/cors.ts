import cors, { type FastifyCorsOptions } from '@fastify/cors'
import type { FastifyInstance } from 'fastify'

/** What a program in a browser may read of an answer beside its body. */
const exposedHeaders = [
  ...['etag', 'location', 'x-request-id', 'retry-after', 'www-authenticate'],
  ...['ratelimit-limit', 'ratelimit-remaining', 'ratelimit-reset', 'deprecation', 'link'],
]

const PREFLIGHT_SECONDS = 600

const isForPrograms = (url: string) => /^\/(api|trpc|health)\b/.test(url)

/** Lets programs on pages of these origins call with a token. No cookie ever goes along: sessions belong to our own pages. */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return
  const allowed: FastifyCorsOptions = {
    origin: [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PATCH', 'DELETE'],
    exposedHeaders,
    maxAge: PREFLIGHT_SECONDS,
    credentials: false,
  }
  await app.register(cors, {
    delegator: ({ url }, decide) => decide(null, isForPrograms(url) ? allowed : { origin: false }),
  })
}
