import { defineEntity, p } from '@mikro-orm/core'
import { FrontendMigration } from './frontend-migration.ts'
import { User } from './user.ts'

/** The data of a migration for one person, sealed, until they have applied it. */
export const FrontendMigrationUserdata = defineEntity({
  name: 'FrontendMigrationUserdata',
  tableName: 'frontend_migration_userdata',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    migration: () => p.manyToOne(FrontendMigration).primary().deleteRule('cascade').ref(),
    data: p.text().hidden(),
  },
})
