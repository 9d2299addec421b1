import { hash } from 'node:crypto'
import { z } from 'zod'
import { refreshClientDocument, type StoredClient } from '../../entities/oauth/oauth-client.sql.ts'
import type { ClientDocument } from '../../entities/oauth/oauth-client.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { HostOutage } from '../ports/client-documents.ts'
import { DAY_MS } from '../ports/days.ts'
import { tryParseJson } from '../ports/json.ts'
import { toClientName } from './client-name.ts'
import { refuseOnPage } from './page-refusal.ts'
import { isAcceptableRedirect } from './redirect-address.ts'

/** A document with the times of its fetch, in milliseconds since 1970. */
export interface FetchedDocument {
  document: ClientDocument
  fetchedAt: number
  freshUntil: number
}

const MAX_ADDRESS = 255
const MINUTE_MS = 60_000
const [SHORTEST, USUAL, LONGEST] = [5 * MINUTE_MS, 60 * MINUTE_MS, DAY_MS]
/** Time for which a stored document serves while its host is down. */
const GRACE_MS = 7 * DAY_MS

const publicMethods = z.union([z.string(), z.array(z.string()).max(20)]).default('none')

/** Members of a client's document; others are ignored. A program that keeps a secret is registered by an administrator. */
const documentSchema = z.object({
  client_id: z.string(),
  client_name: z.string().max(1000).optional(),
  redirect_uris: z.array(z.string()).min(1).max(20),
  token_endpoint_auth_method: publicMethods,
})

/**
 * Reads the document of a client: a stored one while it is fresh, else from its address. While its host is down, a stored
 * one serves for a week; one that was withdrawn, or is not valid any more, serves no longer.
 */
export async function readDocument(
  ctx: Context,
  clientId: string,
  stored: StoredClient | undefined,
): Promise<FetchedDocument> {
  if (!isDocumentAddress(clientId)) throw refuseOnPage('The id of this program is not the address of a document.')
  const known = toFetched(stored) ?? (await readCached(ctx, clientId))
  if (known && Date.now() < known.freshUntil) return known
  const fetched = await fetchDocument(ctx, clientId).catch((error: unknown) => {
    if (known && isOutage(error) && Date.now() < known.fetchedAt + GRACE_MS) return known
    throw error
  })
  if (fetched !== known) await storeDocument(ctx, clientId, fetched, stored !== undefined)
  return fetched
}

const isOutage = (error: unknown) => error instanceof Problem && error.cause instanceof HostOutage

/** RFC 3986 reads dots and encoded dots as steps, which would give one document many addresses. */
function isDocumentAddress(address: string): boolean {
  const url = URL.parse(address)
  if (!url || address.length > MAX_ADDRESS || url.href !== address) return false
  return url.protocol === 'https:' && !url.username && !url.password && !address.includes('#') && url.pathname !== '/'
}

const toFetched = (stored: StoredClient | undefined): FetchedDocument | undefined =>
  stored?.document && stored.fetchedAt !== null && stored.freshUntil !== null
    ? { document: stored.document, fetchedAt: stored.fetchedAt, freshUntil: stored.freshUntil }
    : undefined

/** A document has no row before somebody consents, so until then it is kept for as long as it is fresh. */
const toCacheKey = (clientId: string) => `oauth:document:${hash('sha256', clientId)}`

async function readCached({ services }: Context, clientId: string): Promise<FetchedDocument | undefined> {
  const text = await services.stores.kv.get(toCacheKey(clientId))
  return text === undefined ? undefined : (JSON.parse(text) as FetchedDocument)
}

async function storeDocument(ctx: Context, clientId: string, fetched: FetchedDocument, hasRow: boolean): Promise<void> {
  const { document, fetchedAt, freshUntil } = fetched
  if (!hasRow)
    return ctx.services.stores.kv.set(
      toCacheKey(clientId),
      JSON.stringify(fetched),
      Math.max(1, freshUntil - Date.now()),
    )
  const times = [new Date(fetchedAt), new Date(freshUntil)]
  const { name, redirectUris } = document
  await ctx.services.sql(refreshClientDocument, [clientId, name, redirectUris, JSON.stringify(document), ...times])
}

async function fetchDocument(ctx: Context, clientId: string): Promise<FetchedDocument> {
  const { log, process, settings } = ctx.services
  const { text, maxAge } = await process.clientDocuments.fetch(clientId, ctx.signal()).catch((error: Error) => {
    log.info(
      { requestId: ctx.requestId, host: new URL(clientId).host, reason: error.message },
      'a client document failed',
    )
    throw refuseOnPage(`The document of this program at ${new URL(clientId).host} could not be fetched.`, {
      cause: error,
    })
  })
  const document = parseDocument(text, clientId)
  const redirectUris = document.redirectUris.filter((address) => isAcceptableRedirect(address, settings.oauth))
  if (redirectUris.length === 0)
    throw refuseOnPage('The document of this program names no address that is allowed here.')
  const fetchedAt = Date.now()
  const age = maxAge === undefined ? USUAL : maxAge * 1000
  return {
    document: { ...document, redirectUris },
    fetchedAt,
    freshUntil: fetchedAt + Math.min(LONGEST, Math.max(SHORTEST, age)),
  }
}

/** Reads the text of a document; throws if it is not one of this client. */
export function parseDocument(text: string, clientId: string): ClientDocument {
  const parsed = documentSchema.safeParse(tryParseJson(text)).data
  if (!parsed || parsed.client_id !== clientId || ![parsed.token_endpoint_auth_method].flat().includes('none'))
    throw refuseOnPage(`The document of this program at ${new URL(clientId).host} is not valid.`)
  return { name: toClientName(parsed.client_name) || new URL(clientId).host, redirectUris: parsed.redirect_uris }
}
