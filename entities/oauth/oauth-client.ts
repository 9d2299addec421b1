import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'

/** An administrator registered a client, its id is the address of a document, or it registered itself. */
const clientKinds = ['registered', 'document', 'dynamic'] as const
export type ClientKind = (typeof clientKinds)[number]

/** The members of a client's document that we use. */
export interface ClientDocument {
  name: string
  redirectUris: string[]
}

/**
 * A program to which a person has given access. The row of a document or of a client that registered itself is made when
 * a person consents, and goes with its last grant, unless it is blocked.
 */
export const OAuthClient = defineEntity({
  name: 'OAuthClient',
  tableName: 'oauth_clients',
  properties: {
    id,
    ...timestamps,
    /** The address of a document, `reg_…`, or the SHA-256 of an id that contains its registration. */
    clientId: p.string().length(255).unique(),
    kind: p.enum(clientKinds),
    name: p.string().length(80),
    /** The host of a document's address. */
    host: p.string().length(255).nullable(),
    redirectUris: p.array(),
    /** Set when a document names other addresses than before. */
    redirectsChangedAt: moment().nullable(),
    secretHash: p.character().length(64).nullable().hidden(),
    /** The document as last fetched. */
    document: p.json<ClientDocument>().nullable(),
    fetchedAt: moment().nullable(),
    /** Until then the document is not fetched again. */
    freshUntil: moment().nullable(),
    blocked: p.boolean().default(false),
  },
})
export type OAuthClient = InferEntity<typeof OAuthClient>
