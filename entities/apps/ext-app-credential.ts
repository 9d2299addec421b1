import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { ExtApp } from './ext-app.ts'

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
