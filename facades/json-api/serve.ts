import type { Readable } from 'node:stream'
import { callTRPCProcedure } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import type { FileContent } from '../../routers/core/file-content.ts'
import { runOnce, type StoredResponse } from '../../routers/core/idempotency.ts'
import { hashFile } from '../../routers/core/incoming-file.ts'
import { appRouter } from '../../routers/index.ts'
import type { RecordRef } from '../../routers/resource/record.ts'
import { entityTag, isKnown } from '../http/conditional.ts'
import type { WireNames } from '../http/names.ts'
import { sendFile } from '../http/send-file.ts'
import { readUpload } from '../http/upload.ts'
import { type DocumentContext, selfOf } from './document.ts'
import type { ServedRoute } from './exposed-routes.ts'
import { inputOf } from './input.ts'
import { type ParsedQuery, parseQuery } from './query.ts'
import { isRepeatable, type Route } from './routes.ts'
import type { SharedAnswers, SharedResponse } from './shared-answers.ts'
import { textOf } from './text.ts'
import { jsonapi, mediaType } from './wire.ts'

export interface RouteContext {
  documentContext: DocumentContext
  route: ServedRoute
  sharedPages: SharedAnswers
}

/**
 * Answers a request: from what was kept under its idempotency key, or by calling its procedure. Returns the body for the
 * framework to send: it would keep a reply that is returned until the whole of it is sent.
 */
export async function serve(
  routeContext: RouteContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<string | Buffer | Readable | undefined> {
  const { method, answers } = routeContext.route
  // The first hook made it.
  const ctx = request.context as Context
  if (answers === 'file') {
    const { output } = await call(routeContext, request, ctx)
    return sendFile(request, reply, output as FileContent)
  }
  const { status, headers, payload } = await respond(routeContext, request, ctx)
  reply.headers(headers)
  const isUnchanged = method === 'GET' && isKnown(request.headers['if-none-match'], headers['etag'])
  reply.code(isUnchanged ? 304 : status)
  if (isUnchanged) return undefined
  if (!reply.hasHeader('content-type')) reply.type(mediaType)
  return payload
}

function respond(
  routeContext: RouteContext,
  request: FastifyRequest,
  ctx: Context,
): Promise<StoredResponse | SharedResponse> {
  const { route } = routeContext
  const key = request.headers['idempotency-key']
  if (typeof key === 'string' && isRepeatable(route)) return once(routeContext, request, ctx, key)
  return route.answers === 'page' ? answerPage(routeContext, request, ctx) : answer(routeContext, request, ctx)
}

/** Carries a request out once per key. Of a form, the fields are compared as text and the file by a hash. */
async function once(
  routeContext: RouteContext,
  request: FastifyRequest,
  ctx: Context,
  key: string,
): Promise<StoredResponse> {
  const { route, documentContext } = routeContext
  const body = route.takesFile ? await readForm(request, ctx) : request.body
  const attempt = {
    key,
    request: `${route.method} ${request.url} ${JSON.stringify(body ?? null)}`,
    bodyNotKept: bodyNotKept(documentContext.names),
    ...(route.takesFile && { hashFile: hashFile(ctx) }),
  }
  return runOnce(ctx, attempt, () => answer(routeContext, request, ctx, body))
}

/** The body of a repeat where that of the first answer is not kept. */
const bodyNotKept = ({ syncLogMember }: WireNames) =>
  JSON.stringify({
    jsonapi,
    meta: {
      [syncLogMember]: [],
      note: 'This request was carried out before. The body of its answer is not kept; read the resource for its state.',
    },
  })

/** Calls the procedure; a form is read with the call, where that was not done before. */
async function answer(
  routeContext: RouteContext,
  request: FastifyRequest,
  ctx: Context,
  form?: unknown,
): Promise<StoredResponse> {
  const { documentContext, route } = routeContext
  const called = await call(routeContext, request, ctx, form)
  const plain = documentContext.members.plainAnswer(route.resource.type, route.action)
  return plain === undefined ? await written(routeContext, request, ctx, called) : plainAnswer(plain, called.output)
}

/** The same for a page, which is written once for all who are shown it in one turn. */
async function answerPage(routeContext: RouteContext, request: FastifyRequest, ctx: Context): Promise<SharedResponse> {
  const called = await call(routeContext, request, ctx)
  return await routeContext.sharedPages.of(request.url, called.output, () =>
    written(routeContext, request, ctx, called),
  )
}

/** What the procedure was asked for, and its output, as it is sent. */
async function written(
  routeContext: RouteContext,
  { url }: FastifyRequest,
  { hints: { positions = [] } }: Context,
  { output, query }: Called,
): Promise<StoredResponse> {
  const { documentContext, route } = routeContext
  const payload = await textOf({ documentContext, route, query, url, output, positions })
  const status = route.creates ? 201 : 200
  return { status, headers: headersOf(routeContext, output, payload), payload }
}

/** A member of an action's `meta` alone. */
function plainAnswer(member: string, output: unknown): StoredResponse {
  const { meta = {} } = output as { meta?: Record<string, unknown> }
  const payload = JSON.stringify({ [member]: meta[member] })
  return {
    status: 200,
    headers: { etag: entityTag(payload), 'content-type': 'application/json; charset=utf-8' },
    payload,
  }
}

interface Called {
  output: unknown
  query: ParsedQuery
}

/** The first hook let the caller in: whoever is told here what is wrong with the input may call. */
async function call(
  routeContext: RouteContext,
  request: FastifyRequest,
  ctx: Context,
  form?: unknown,
): Promise<Called> {
  const { documentContext, route } = routeContext
  const { takesFile } = route
  const query = parseQuery(searchOf(request), route, documentContext)
  ctx.asks = asksBy(query, documentContext)
  const body = takesFile ? (form ?? (await readForm(request, ctx))) : request.body
  const input = inputOf(route, documentContext.members, query, request, body)
  return { output: await callProcedure(route, ctx, input), query }
}

const callProcedure = ({ name: path, procedure }: ServedRoute, ctx: Context, input: unknown): Promise<unknown> => {
  const { type } = procedure._def
  const getRawInput = async () => input
  return callTRPCProcedure({ router: appRouter, path, type, ctx, getRawInput, signal: undefined, batchIndex: 0 })
}

/** Which attributes the query asks for, or gets unasked. */
const asksBy =
  ({ fields }: ParsedQuery, { members }: DocumentContext): Context['asks'] =>
  (type, name) =>
    fields.get(type)?.has(name) ?? members.isUnasked(type, name)

/** The form without its file, which comes with the call. */
async function readForm(request: FastifyRequest, ctx: Context): Promise<object> {
  const { input, content } = await readUpload(request)
  if (content) ctx.file = { content, announced: Number(request.headers['content-length'] ?? 0) }
  return input
}

function searchOf({ url }: FastifyRequest): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

function headersOf({ documentContext, route }: RouteContext, output: unknown, payload: string): Record<string, string> {
  const { answers, creates, resource } = route
  if (answers === 'nothing') return {}
  const record = recordOf(route, output)
  const etag = entityTag(payload, record?.rowVersion)
  return creates && record ? { etag, location: selfOf(documentContext, resource.type, record) } : { etag }
}

/** The one record that is answered with: of an action, that which it created. */
function recordOf({ answers, creates }: Route, output: unknown): RecordRef | undefined {
  if (answers === 'one' || answers === 'created') return output as RecordRef
  return creates && (output as { data: RecordRef }).data
}
