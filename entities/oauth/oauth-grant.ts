import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { AccessToken } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { id, moment, timestamps } from '../sql/columns.ts'
import { OAuthClient } from './oauth-client.ts'

/** The access that a person gave to a program. It has one token row for its whole life, and ends with that row. */
export const OAuthGrant = defineEntity({
  name: 'OAuthGrant',
  tableName: 'oauth_grants',
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    client: () => p.manyToOne(OAuthClient).deleteRule('cascade').index().ref(),
    token: () => p.manyToOne(AccessToken).deleteRule('cascade').unique().ref(),
    /** The tokens are derived from it, the generation and the application key. */
    salt: p.string().length(32).hidden(),
    generation: p.integer().default(0),
    rotatedAt: moment(),
    /** Addresses of ours for which the tokens are good, with all below them; empty for the whole service. */
    resources: p.array(),
    /** Ids of the tool servers; null for all, also those that are added later. */
    servers: p.array(Number).columnType('int[]').nullable(),
    endsAt: moment().index(),
    /** Set if an old refresh token was used again, which ended the grant. */
    replayedAt: moment().nullable(),
    /** The product in the user agent of the program. */
    device: p.string().length(40).nullable(),
  },
})
export type OAuthGrant = InferEntity<typeof OAuthGrant>
