import { hash } from 'node:crypto'
import { z } from 'zod'
import { findClient, type StoredClient } from '../../entities/oauth/oauth-client.sql.ts'
import type { ClientDocument, ClientKind } from '../../entities/oauth/oauth-client.ts'
import type { Context } from '../core/context.ts'
import { openSealed } from '../core/sealed.ts'
import { OAUTH_CLIENT } from '../ports/vault.ts'
import { type FetchedDocument, readDocument } from './client-document.ts'
import { isOpenToClient } from './oauth-policy.ts'
import { refuseOnPage } from './page-refusal.ts'
import { isAcceptableRedirect } from './redirect-address.ts'

/** A client that asks for access. */
export interface KnownClient {
  /** Its id as it is stored. */
  storedId: string
  kind: ClientKind
  name: string
  /** The host of its document's address. */
  host: string | null
  redirectUris: readonly string[]
  /** Is set for a document. */
  fetched?: FetchedDocument
}

const DYNAMIC = 'dyn_'
const REGISTERED = 'reg_'
export const MAX_CLIENT_ID = 4000

/** A client's registration of itself in as few characters as possible: name, addresses, and seconds since 1970. */
const registration = z.tuple([z.string(), z.array(z.string()), z.number()])
type Registration = ClientDocument & { registeredAt: number }

/** Writes the id of a client that registers itself: the sealed registration, so that nothing is stored. */
export const writeDynamicId = ({ services }: Context, { name, redirectUris, registeredAt }: Registration): string =>
  DYNAMIC + services.vault.seal(JSON.stringify([name, redirectUris, registeredAt]), OAUTH_CLIENT)

function readDynamicId({ services }: Context, clientId: string): Registration | undefined {
  const sealed = clientId.slice(DYNAMIC.length)
  if (!isCanonical(sealed)) return undefined
  const opened = openSealed(services.vault, sealed, OAUTH_CLIENT, registration)
  if (!opened) return undefined
  const [name, redirectUris, registeredAt] = opened
  return { name, redirectUris, registeredAt }
}

/** Several texts decode to the same bytes; only one of them is an id, or a blocked program could use another. */
const isCanonical = (sealed: string) => {
  const parts = sealed.split('.')
  const encoded = parts.slice(2)
  return parts.length === 4 && encoded.every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
}

const findKind = (clientId: string): ClientKind | undefined => {
  if (clientId.startsWith(DYNAMIC)) return 'dynamic'
  if (clientId.startsWith('https://')) return 'document'
  return clientId.startsWith(REGISTERED) ? 'registered' : undefined
}

/** Returns the id under which a client is stored, which a registration would be too long for. */
const toStoredId = (clientId: string, kind: ClientKind) => (kind === 'dynamic' ? hash('sha256', clientId) : clientId)

/** Returns the kind of a client that people may sign in here. */
function findOpenKind({ services }: Context, clientId: string): ClientKind | undefined {
  const kind = findKind(clientId)
  const host = URL.parse(clientId)?.host ?? null
  return kind && isOpenToClient(kind, host, services.settings) ? kind : undefined
}

/**
 * Finds a client that asks for access, and fetches its document if that is due. Its addresses are those that are allowed
 * now, whatever was allowed when it was registered. Throws for a person to read.
 */
export async function findRequestingClient(ctx: Context, clientId: string): Promise<KnownClient> {
  const client = await findClientById(ctx, clientId)
  const { oauth } = ctx.services.settings
  return { ...client, redirectUris: client.redirectUris.filter((address) => isAcceptableRedirect(address, oauth)) }
}

async function findClientById(ctx: Context, clientId: string): Promise<KnownClient> {
  const kind = findOpenKind(ctx, clientId)
  if (!kind) throw createUnknown()
  const storedId = toStoredId(clientId, kind)
  const [stored] = await ctx.services.sql(findClient, [storedId])
  if (stored?.blocked) throw refuseOnPage('An administrator has blocked this program.')
  if (kind === 'document') return readDocumentClient(ctx, clientId, stored)
  if (kind === 'registered') {
    if (!stored) throw createUnknown()
    return { storedId, kind, name: stored.name, host: null, redirectUris: stored.redirectUris }
  }
  const found = readDynamicId(ctx, clientId)
  if (!found) throw createUnknown()
  return { storedId, kind, name: found.name, host: null, redirectUris: found.redirectUris }
}

async function readDocumentClient(ctx: Context, clientId: string, stored: StoredClient | undefined) {
  const fetched = await readDocument(ctx, clientId, stored)
  const { name, redirectUris } = fetched.document
  return { storedId: clientId, kind: 'document' as const, name, host: new URL(clientId).host, redirectUris, fetched }
}

const createUnknown = () =>
  refuseOnPage('This program is not known here. Have it register again, or ask your administrator.')

/**
 * Finds the stored id of a client at the token endpoint, and its row if it has one. Undefined if it is no client of ours:
 * one with a valid id may have no row any more, because its last grant has ended.
 */
export async function findTokenClient(
  ctx: Context,
  clientId: string,
): Promise<{ storedId: string; stored: StoredClient | undefined } | undefined> {
  const kind = findOpenKind(ctx, clientId)
  if (!kind) return undefined
  const storedId = toStoredId(clientId, kind)
  const [stored] = await ctx.services.sql(findClient, [storedId])
  if (stored?.blocked) return undefined
  const isKnown = stored || (kind === 'dynamic' ? readDynamicId(ctx, clientId) : kind === 'document')
  return isKnown ? { storedId, stored } : undefined
}
