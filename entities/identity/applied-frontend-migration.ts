import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { FrontendMigration } from './frontend-migration.ts'
import { User } from './user.ts'

export const AppliedFrontendMigration = defineEntity({
  name: 'AppliedFrontendMigration',
  tableName: 'applied_frontend_migrations',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    migration: () => p.manyToOne(FrontendMigration).primary().deleteRule('cascade').ref(),
    appliedAt: moment().defaultRaw('now()'),
  },
})
