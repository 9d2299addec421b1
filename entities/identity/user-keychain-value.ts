import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import type { SqlPredicate } from '../sql/scope.ts'
import { User } from './user.ts'

export const keyTypes = ['private_key', 'public_key', 'room_key', 'room_ai', 'room_ai_legacy', 'ai_conv'] as const

/** A key of a person, encrypted by their browser, so that not even the service can read it. */
export const UserKeychainValue = defineEntity({
  name: 'UserKeychainValue',
  tableName: 'user_keychain_values',
  uniques: [{ properties: ['user', 'key', 'keyType'] }],
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').ref(),
    key: p.string().length(255),
    keyType: p.enum(keyTypes),
    value: p.text(),
  },
  // A query without a viewer throws, like that of tokens.
  filters: {
    own: {
      name: 'own',
      cond: ({ viewer }: { viewer: number | 'host' }) => (viewer === 'host' ? {} : { user: viewer }),
      default: true,
    },
  },
})
export type UserKeychainValue = InferEntity<typeof UserKeychainValue>

/** The caller's own rows; administrators do not see those of others either. */
export const ownRows: SqlPredicate = (row, sql) => `${row}.user_id = ${sql.param('viewer')}`
