import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'

/** What a person can let an app do in their name; their keychain it never writes. */
export const appAbilities = ['ai', 'user', 'read', 'write'] as const
export type AppAbility = (typeof appAbilities)[number]

/** Another program that offers our models to people under their own account here. */
export const ExtApp = defineEntity({
  name: 'ExtApp',
  tableName: 'ext_apps',
  properties: {
    id,
    ...timestamps,
    name: p.string().length(120).unique(),
    description: p.text().nullable(),
    url: p.string().length(2048),
    /** Where browsers may be sent back, exactly; the first is the usual one. */
    redirectUrls: p.array(),
    logoUrl: p.string().length(2048).nullable(),
    /** `b64(PEM)|b64(body)` of an RSA key, for which the secrets of links are sealed. */
    publicKey: p.text(),
    /** What it may ask people for. */
    abilities: p.array().$type<AppAbility[]>(),
    /** Whether it cannot do without the passkey of people. */
    needsKeys: p.boolean().default(false),
    /** How many days a link holds. */
    linkDays: p.integer().default(90),
    /** While it is not, neither its credentials nor the tokens of its links work; they are kept. */
    active: p.boolean().default(true),
    /** Whether it stands in the file that EXT_APPS names, as that was read last. */
    fromFile: p.boolean().default(false),
    /** Whether it is off for no other reason than that it left the file, and thus on again once it returns. */
    leftFile: p.boolean().default(false),
  },
  checks: [{ name: 'ext_apps_left_file_check', expression: 'not (left_file and (active or from_file))' }],
})

/** By what an app proves who it is. Only the SHA-256 of its secret is kept; while it is replaced, an app has two. */
export const ExtAppCredential = defineEntity({
  name: 'ExtAppCredential',
  tableName: 'ext_app_credentials',
  properties: {
    id,
    ...timestamps,
    app: () => p.manyToOne(ExtApp).deleteRule('cascade').index().ref(),
    hash: p.character().length(64).hidden(),
    expiresAt: moment().nullable(),
    lastUsedAt: moment().nullable(),
  },
})
