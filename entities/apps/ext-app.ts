import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'

/** Abilities that a person can grant to an app, which never writes the keychain. */
export const appAbilities = ['ai', 'user', 'read', 'write', 'mcp'] as const
export type AppAbility = (typeof appAbilities)[number]

/** An external program that offers our models to people with accounts here. */
export const ExtApp = defineEntity({
  name: 'ExtApp',
  tableName: 'ext_apps',
  properties: {
    id,
    ...timestamps,
    name: p.string().length(120).unique(),
    description: p.text().nullable(),
    url: p.string().length(2048),
    /** Exact redirect URLs; the first is the default. */
    redirectUrls: p.array(),
    logoUrl: p.string().length(2048).nullable(),
    /** `b64(PEM)|b64(body)` of an RSA key, for which the secrets of links are sealed. */
    publicKey: p.text(),
    /** Abilities that it may request. */
    abilities: p.array().$type<AppAbility[]>(),
    /** True if it requires the passkey of people. */
    needsKeys: p.boolean().default(false),
    /** Validity of a link in days. */
    linkDays: p.integer().default(90),
    /** False makes its credentials and the tokens of its links invalid, but keeps them. */
    active: p.boolean().default(true),
    /** True if it is in the file that EXT_APPS names, as of the last sync. */
    fromFile: p.boolean().default(false),
    /** True if it is inactive only because it left the file, so that it becomes active again when it returns. */
    leftFile: p.boolean().default(false),
  },
  checks: [{ name: 'ext_apps_left_file_check', expression: 'not (left_file and (active or from_file))' }],
})

/** A credential of an app, stored as SHA-256. During a rotation an app has two. */
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
