import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { User } from './user.ts'

/** The passkey of a person, encrypted with a code that only they have. */
export const PasskeyBackup = defineEntity({
  name: 'PasskeyBackup',
  tableName: 'passkey_backups',
  properties: {
    id,
    ...timestamps,
    user: () => p.manyToOne(User).deleteRule('cascade').unique().ref(),
    /** The username from which the key was derived, if the person has been renamed. */
    derivedWith: p.string().length(120).nullable(),
    ciphertext: p.text(),
    iv: p.string().length(64),
    tag: p.string().length(64),
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
export type PasskeyBackup = InferEntity<typeof PasskeyBackup>
