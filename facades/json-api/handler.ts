import type { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Context, type IncomingFile, withCallOptions } from '../../routers/core/context.ts'
import type { FileContent } from '../../routers/core/file-content.ts'
import { runOnce, type StoredResponse } from '../../routers/core/idempotency.ts'
import { hashFile } from '../../routers/core/incoming-file.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { RecordRef } from '../../routers/resource/record.ts'
import { createEntityTag, matchesIfNoneMatch, parseIfMatchVersions } from '../http/conditional.ts'
import { readUpload } from '../http/forms.ts'
import { contextOf, inputsOf } from '../http/procedures.ts'
import { readSearch } from '../http/request-url.ts'
import { readPositions } from '../http/response-notes.ts'
import { sendFile } from '../http/send-file.ts'
import { readAction, readLinkage, readResource } from './body.ts'
import { buildSelfLink, writeDocument } from './document.ts'
import type { DocumentContext } from './members.ts'
import { type ParsedQuery, parseQuery } from './query.ts'
import { isRepeatable, jsonapi, mediaType, type Route, type ServedRoute } from './routes.ts'

interface HandlerOptions {
  documentContext: DocumentContext
  route: ServedRoute
  sharedResponses: SharedResponses
}

interface RequestBody {
  /** The document, or the fields of a form. */
  input: unknown
  file: IncomingFile | undefined
}

interface ProcedureResult {
  query: ParsedQuery
  output: unknown
}

/** Handles the requests of one route: request to input, input to output, output to text. */
export class RouteHandler {
  readonly #documentContext: DocumentContext
  readonly #route: ServedRoute
  readonly #sharedResponses: SharedResponses

  constructor({ documentContext, route, sharedResponses }: HandlerOptions) {
    this.#documentContext = documentContext
    this.#route = route
    this.#sharedResponses = sharedResponses
  }

  /** Returns the body for the framework, because a returned reply would be kept until it is sent. */
  readonly handle = async (
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<string | Buffer | Readable | undefined> => {
    const ctx = contextOf(request)
    if (this.#route.answers === 'file') {
      const { output } = await this.#callProcedure(request, ctx)
      return sendFile(request, reply, output as FileContent)
    }
    const { status, headers, payload } = await this.#respond(request, ctx)
    reply.headers(headers)
    const isUnchanged =
      this.#route.method === 'GET' && matchesIfNoneMatch(request.headers['if-none-match'], headers['etag'])
    reply.code(isUnchanged ? 304 : status)
    if (isUnchanged) return undefined
    if (!reply.hasHeader('content-type')) reply.type(mediaType)
    return payload
  }

  async #respond(request: FastifyRequest, ctx: Context): Promise<StoredResponse | SharedResponse> {
    const key = request.headers['idempotency-key']
    if (typeof key === 'string' && isRepeatable(this.#route)) return this.#respondOnce(request, ctx, key)
    const result = await this.#callProcedure(request, ctx)
    if (this.#route.answers !== 'page') return this.#writeResponse(request, ctx, result)
    return this.#sharedResponses.share(request.url, result.output, () => this.#writeResponse(request, ctx, result))
  }

  /** Runs a request once per idempotency key. Forms are compared by their fields and a hash of the file. */
  async #respondOnce(request: FastifyRequest, ctx: Context, key: string): Promise<StoredResponse> {
    const { method, hasFile } = this.#route
    const { input: body, file } = await this.#readBody(request)
    const hashed = hashFile(ctx, file)
    const attempt = {
      key,
      request: `${method} ${request.url} ${JSON.stringify(body ?? null)}`,
      bodyNotKept: this.#bodyNotKept(),
      ...(hasFile && { hashFile: hashed.readHash }),
    }
    return runOnce(ctx, attempt, async () =>
      this.#writeResponse(request, ctx, await this.#callProcedure(request, ctx, { input: body, file: hashed.file })),
    )
  }

  /** Returns the body of a repetition if the first body is not kept. */
  #bodyNotKept(): string {
    const note =
      'This request was carried out before. The body of its answer is not kept; read the resource for its state.'
    return JSON.stringify({ jsonapi, meta: { [this.#documentContext.names.syncLogMember]: [], note } })
  }

  /** Calls the procedure. The first hook has checked the access, so callers may see input errors. */
  async #callProcedure(request: FastifyRequest, ctx: Context, knownBody?: RequestBody): Promise<ProcedureResult> {
    const { name: path, procedure } = this.#route
    const query = parseQuery(readSearch(request), this.#route, this.#documentContext)
    const { members } = this.#documentContext
    const isRequested = (type: string, name: string) =>
      query.fields.get(type)?.has(name) ?? members.isSentByDefault(type, name)
    const { input: body, file } = knownBody ?? (await this.#readBody(request))
    const input = this.#readInput(query, request, body)
    const callContext = withCallOptions(ctx, { isRequested, file })
    const call = { path, type: procedure._def.type, ctx: callContext, getRawInput: async () => input }
    return { query, output: await procedure({ ...call, signal: undefined, batchIndex: 0 }) }
  }

  #readInput({ input }: ParsedQuery, request: FastifyRequest, body: unknown): object {
    const { method, relation } = this.#route
    const target = request.params as { id?: string }
    if (method === 'GET') return { ...input, ...target, ...(relation && { relation: relation.name }) }
    const expected = readIfMatch(this.#route, target.id, request)
    return { ...this.#toInput(body, target.id), ...target, ...expected }
  }

  /** Reads a form up to its file; any other body is already read. */
  async #readBody(request: FastifyRequest): Promise<RequestBody> {
    return this.#route.hasFile ? readUpload(request) : { input: request.body, file: undefined }
  }

  #toInput(body: unknown, id: string | undefined): object {
    const { method, answers, resource, relation, procedure } = this.#route
    const { members } = this.#documentContext
    if (answers === 'linkage' && relation) return readLinkage(relation.of, body)
    if (answers === 'action') return readAction(resource, members.mapInput(inputsOf(procedure)), body)
    return method === 'DELETE' ? {} : readResource(resource, members, body, id)
  }

  async #writeResponse(
    { url }: FastifyRequest,
    { notes }: Context,
    { output, query }: ProcedureResult,
  ): Promise<StoredResponse> {
    const documentContext = this.#documentContext
    const route = this.#route
    const plainMember = documentContext.members.plainAnswer(route.resource.type, route.action)
    if (plainMember !== undefined) return writePlain(plainMember, output)
    const payload = await writeDocument({ documentContext, route, query, url, output, positions: readPositions(notes) })
    return { status: route.creates ? 201 : 200, headers: this.#writeHeaders(output, payload), payload }
  }

  #writeHeaders(output: unknown, payload: string): Record<string, string> {
    const { answers, creates, resource } = this.#route
    if (answers === 'nothing') return {}
    const record = findRecord(this.#route, output)
    const etag = createEntityTag(payload, record?.rowVersion)
    return creates && record
      ? { etag, location: buildSelfLink(this.#documentContext, resource.type, record) }
      : { etag }
  }
}

/** Writes one member of an action's `meta` as plain JSON. */
function writePlain(member: string, output: unknown): StoredResponse {
  const { meta = {} } = output as { meta?: Record<string, unknown> }
  const payload = JSON.stringify({ [member]: meta[member] })
  const headers = { etag: createEntityTag(payload), 'content-type': 'application/json; charset=utf-8' }
  return { status: 200, headers, payload }
}

/** Finds the record of the response: for an action, the created one. */
function findRecord({ answers, creates }: Route, output: unknown): RecordRef | undefined {
  if (answers === 'one' || answers === 'created') return output as RecordRef
  return creates && (output as { data: RecordRef }).data
}

/** Reads the versions of `If-Match`; throws if the address has no row. */
function readIfMatch(
  { answers }: Route,
  id: string | undefined,
  { headers }: FastifyRequest,
): { ifVersion?: string[] } {
  const ifVersion = parseIfMatchVersions(headers['if-match'])
  if (ifVersion && (id === undefined || answers === 'action')) throw new Problem('precondition_failed')
  return ifVersion ? { ifVersion } : {}
}

/** A response as bytes, which are encoded only once for all callers. */
export type SharedResponse = Omit<StoredResponse, 'payload'> & { payload: Buffer }

interface SharedEntry {
  output: unknown
  response: Promise<SharedResponse>
}

/**
 * Shares the written response among concurrent reads of one URL in one turn of the event loop with equal output. The
 * rows are compared, not the callers; rows of a coalesced statement are identical objects, others are compared deeply.
 */
export class SharedResponses {
  readonly #entries = new Map<string, SharedEntry>()

  /** Returns the shared response for an output, or writes it. */
  share(url: string, output: unknown, write: () => Promise<StoredResponse>): Promise<SharedResponse> {
    const known = this.#entries.get(url)
    if (known && isDeepStrictEqual(known.output, output)) return known.response
    if (this.#entries.size === 0) setImmediate(() => this.#entries.clear())
    const response = write().then(toBytes)
    this.#entries.set(url, { output, response })
    return response
  }
}

const toBytes = (written: StoredResponse): SharedResponse => ({ ...written, payload: Buffer.from(written.payload) })
