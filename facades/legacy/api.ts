import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Context } from '../../routers/core/context.ts'
import { type Api, createCaller, users } from '../../routers/index.ts'
import type { RecordOf } from '../../routers/resource/record.ts'
import { sendAnswer } from '../ai/answer.ts'
import { dropUnknownMembers } from '../ai/request-body.ts'
import type { EventWriter } from '../http/event-stream.ts'
import { toFailure } from '../http/failure.ts'
import { toPreview } from '../http/link-preview.ts'
import { isPreferred } from '../http/negotiation.ts'
import { type FacadeOptions, findInput, procedureRoute } from '../http/procedures.ts'
import { setLegacyErrorHandler } from './errors.ts'

type AiRequest = Parameters<Api['ai']['ask']>[0]

const askInput = findInput('ai.ask')

interface LegacyOptions extends FacadeOptions {
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** The token-authenticated endpoints that predate v1. */
export async function legacyApi(app: FastifyInstance, { resolveContext, bodyLimits, heartbeat }: LegacyOptions) {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('cache-control', 'no-store')
    // The caller is authenticated before the body is read.
    await resolveContext(request, reply)
  })
  app.removeContentTypeParser('text/plain')

  setLegacyErrorHandler(app, 'payload')

  app.post<{ Body: Record<string, unknown> | null }>(
    '/api/ai-req',
    procedureRoute('ai.ask', { resolveContext, bodyLimits }),
    async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const { ai } = createCaller(ctx)
      const payload = readPayload(ctx, request.body) as AiRequest
      const isStreamed = isPreferred('text/event-stream', request.headers.accept)
      return sendAnswer(ctx, reply, {
        complete: async () => {
          const { text, cut } = await ai.ask(payload)
          return { success: true, content: { text }, ...(cut && { cut }) }
        },
        stream: () => ai.stream(payload),
        writer: isStreamed ? createEventWriter(request.id) : undefined,
        heartbeat,
      })
    },
  )

  app.get('/api/user', async (request, reply) => {
    return toLegacyUser(await createCaller(await resolveContext(request, reply)).users.me())
  })
}

/** Reads the payload without members that are null, as if they were absent, and without unknown ones, which the response names. */
function readPayload({ services, hints }: Context, body: Record<string, unknown> | null): unknown {
  const { payload, ...beside } = body ?? {}
  const { input, ignored } = dropUnknownMembers(askInput, dropNulls(payload ?? {}), services.settings.strictParameters)
  hints.ignoredParameters = [...Object.keys(beside), ...ignored.map((name) => `payload.${name}`)]
  return input
}

const dropNulls = (value: unknown): unknown =>
  typeof value === 'object' && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value as object).filter(([, member]) => member !== null))
    : value

type StreamPart = Awaited<ReturnType<Api['ai']['stream']>> extends AsyncGenerator<infer Part> ? Part : never

/** Writes events by name: `delta`, `usage`, then `done` or `error`. */
const createEventWriter = (requestId: string): EventWriter<StreamPart> => ({
  writePart: ({ type, ...data }) => writeEvent(type, data),
  writeEnd: () => writeEvent('done', {}),
  writeError(thrown) {
    const { code, message } = toFailure(thrown)
    return writeEvent('error', { code, message, requestId })
  },
})

const writeEvent = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

const { username, displayName, email, role, bio, avatar, publicKey, createdAt, updatedAt } = users.attributes

/** The legacy shape of the caller, with some members under two names. */
export const legacyUser = z.object({
  id: z.int(),
  username: username.schema,
  name: displayName.schema,
  email: email.schema.optional(),
  role: role.schema.optional(),
  bio: bio.schema,
  avatar: avatar.schema,
  avatar_id: z.string().nullable().describe('The picture without its kind.'),
  publicKey: publicKey.schema,
  createdAt: createdAt.schema,
  updatedAt: updatedAt.schema,
  created_at: createdAt.schema,
  updated_at: updatedAt.schema,
})

function toLegacyUser({ id, displayName: name, ...me }: RecordOf<typeof users>): z.output<typeof legacyUser> {
  const { username, email, role, bio, avatar, publicKey, createdAt, updatedAt } = me
  return {
    id: Number(id),
    username,
    name,
    email,
    role,
    bio,
    avatar,
    publicKey,
    avatar_id: avatar === null ? null : avatar.slice(avatar.indexOf('-') + 1),
    createdAt,
    updatedAt,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}

interface LegacyPreviewOptions extends FacadeOptions {
  /** Prefix of picture addresses; empty for addresses without a host. */
  baseUrl: string
}

/** Serves previews at the legacy address, with the same response as the current one. */
export async function legacyLinkPreview(app: FastifyInstance, { baseUrl, ...options }: LegacyPreviewOptions) {
  setLegacyErrorHandler(app)
  app.post<{ Body: { url: string } | null }>(
    '/api/link-preview',
    procedureRoute('linkPreviews.metadata', options),
    async (request, reply) => {
      reply.header('cache-control', 'no-store')
      const { linkPreviews } = createCaller(await options.resolveContext(request, reply))
      return toPreview(
        await linkPreviews.metadata(request.body ?? ({} as { url: string })),
        baseUrl + app.names.basePath,
      )
    },
  )
}
