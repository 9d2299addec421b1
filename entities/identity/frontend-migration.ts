import { defineEntity, p } from '@mikro-orm/core'
import { id, moment, timestamps } from '../sql/columns.ts'
import { statement, unboundedStatement } from '../sql/statement.ts'
import { User } from './user.ts'

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

export const AppliedFrontendMigration = defineEntity({
  name: 'AppliedFrontendMigration',
  tableName: 'applied_frontend_migrations',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    migration: () => p.manyToOne(FrontendMigration).primary().deleteRule('cascade').ref(),
    appliedAt: moment().defaultRaw('now()'),
  },
})

/** Sealed data of a migration for one person, until they have applied it. */
export const FrontendMigrationUserdata = defineEntity({
  name: 'FrontendMigrationUserdata',
  tableName: 'frontend_migration_userdata',
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').ref(),
    migration: () => p.manyToOne(FrontendMigration).primary().deleteRule('cascade').ref(),
    data: p.text().hidden(),
  },
})

/** SQL: the person has applied the migration. */
const isApplied = 'exists (select from applied_frontend_migrations a where a.user_id = u.id and a.migration_id = m.id)'

/** SQL: the migration is newer than the person, and they have not applied it. */
const isPending = `m.created_at > u.created_at and not ${isApplied}`

const migrationsWhere = (condition: string) =>
  `select m.name,
          (select d.data from frontend_migration_userdata d where d.user_id = u.id and d.migration_id = m.id) as data
     from frontend_migrations m join users u on u.id = $1
    where ${condition} order by m.name`

interface MigrationOfPerson {
  name: string
  data: string | null
}

/** Values: the user's id. The data is sealed. */
export const listPendingMigrations = statement<MigrationOfPerson>('list-pending-migrations', migrationsWhere(isPending))

/** Lists the same and the applied ones. Values: the user's id. */
export const listOwnMigrations = statement<MigrationOfPerson>(
  'list-own-migrations',
  migrationsWhere(`m.created_at > u.created_at or ${isApplied}`),
)

/** SQL for the number of migrations that are pending for the user `u`. */
export const pendingCount = `(select count(*)::int from frontend_migrations m where ${isPending})`

/** Values: the user's id and the name of a migration that is pending for them. The data is sealed. */
export const findOldKeychain = statement<{ data: string; publicKey: string | null }>(
  'find-old-keychain',
  `select d.data, u.public_key as "publicKey"
     from users u
     join frontend_migration_userdata d on d.user_id = u.id
     join frontend_migrations m on m.id = d.migration_id
    where u.id = $1 and m.name = $2 and ${isPending}`,
)

/** Data that a migration stores for a person. */
export interface SealedUserdata {
  user: number
  migration: number
  sealed: string
}

/** Lists the stored data after a key. Values: the ids of a person and of a migration, and the batch size. */
export const listUserdataAfter = unboundedStatement<SealedUserdata>(
  `select user_id as user, migration_id as migration, data as sealed from frontend_migration_userdata
    where (user_id, migration_id) > ($1, $2) order by user_id, migration_id limit $3`,
)

/**
 * Replaces data by the same data sealed again; returns a row for each that was not changed meanwhile. Values: ids of
 * people and of migrations, the data that was read, and the new data.
 */
export const replaceUserdata = unboundedStatement<{ user: number }>(
  `update frontend_migration_userdata d set data = renewed.data
     from unnest($1::int[], $2::int[], $3::text[], $4::text[]) as renewed (user_id, migration_id, before, data)
    where d.user_id = renewed.user_id and d.migration_id = renewed.migration_id and d.data = renewed.before
   returning d.user_id as user`,
)

/** Deletes the person's stored data, and marks all migrations as applied. Values: the person's id. */
export const settleMigrations = statement<never>(
  'settle-migrations',
  `with gone as (delete from frontend_migration_userdata where user_id = $1)
  insert into applied_frontend_migrations (user_id, migration_id) select $1::int, id from frontend_migrations
  on conflict do nothing`,
)
