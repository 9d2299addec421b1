import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import type { Ability } from '../identity/access-token.ts'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'
import { OAuthClient } from './oauth-client.ts'
import { OAuthGrant } from './oauth-grant.ts'

/** A code that a program exchanges for tokens, once. It stays for a day after its use, so that a second use is noticed. */
export const OAuthCode = defineEntity({
  name: 'OAuthCode',
  tableName: 'oauth_codes',
  properties: {
    /** SHA-256 of the code. */
    hash: p.character().length(64).primary(),
    client: () => p.manyToOne(OAuthClient).deleteRule('cascade').index().ref(),
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    redirectUri: p.text(),
    /** SHA-256 of the verifier in base64url (PKCE). */
    challenge: p.string().length(43),
    abilities: p.array().$type<Ability[]>(),
    resources: p.array(),
    /** Ids of the tool servers; null for all, also those that are added later. */
    servers: p.array(Number).columnType('int[]').nullable(),
    expiresAt: moment().index(),
    /** The grant that the code gave. */
    grant: () => p.manyToOne(OAuthGrant).deleteRule('cascade').nullable().index().ref(),
  },
})
export type OAuthCode = InferEntity<typeof OAuthCode>
