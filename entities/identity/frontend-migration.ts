import { defineEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'

/** A change of data that only browsers can decrypt, so each browser applies it for its own person. */
export const FrontendMigration = defineEntity({
  name: 'FrontendMigration',
  tableName: 'frontend_migrations',
  properties: {
    id,
    ...timestamps,
    name: p.string().length(200).unique(),
  },
})
