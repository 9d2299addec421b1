import type { FastifyInstance } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import { sendAnswer } from '../ai/answer.ts'
import { dropUnknownMembers } from '../ai/request-body.ts'
import type { EventWriter } from '../http/event-stream.ts'
import { toFailure } from '../http/failure.ts'
import { setLegacyErrorHandler } from '../http/legacy-errors.ts'
import { isPreferred } from '../http/negotiation.ts'
import { contextOf, type FacadeOptions, findInput, procedureRoute } from '../http/procedures.ts'
import { toLegacyUser } from './user.ts'

type AiRequest = Parameters<Api['ai']['ask']>[0]

const askInput = findInput('ai.ask')

interface AiReqOptions extends FacadeOptions {
  /** Pause between the comment lines of a silent stream, in milliseconds. */
  heartbeat: number
}

/** Serves the two token-authenticated endpoints that the contract calls legacy: a question to a model, and the caller. */
export async function aiReq(app: FastifyInstance, { resolveContext, bodyLimits, heartbeat }: AiReqOptions) {
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
      const ctx = contextOf(request)
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

  app.get('/api/user', async (request) => toLegacyUser(await createCaller(contextOf(request)).users.me()))
}

/** Reads the payload without members that are null, as if they were absent, and without unknown ones, which the response names. */
function readPayload({ services, notes }: Context, body: Record<string, unknown> | null): unknown {
  const { payload, ...beside } = body ?? {}
  const { input, ignored } = dropUnknownMembers(askInput, dropNulls(payload ?? {}), services.settings.strictParameters)
  const names = [...Object.keys(beside), ...ignored.map((name) => `payload.${name}`)]
  if (names.length > 0) notes.setIgnoredParameters(names)
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
