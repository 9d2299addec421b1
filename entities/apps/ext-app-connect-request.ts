import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { moment } from '../sql/columns.ts'

/** A connect request that somebody has opened: it is theirs alone from then on, and good for one answer. */
export const ExtAppConnectRequest = defineEntity({
  name: 'ExtAppConnectRequest',
  tableName: 'ext_app_connect_requests',
  properties: {
    /** SHA-256 of the request. */
    hash: p.string().length(43).primary(),
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    expiresAt: moment().index(),
    usedAt: moment().nullable(),
  },
})
