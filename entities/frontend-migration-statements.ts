import { statement } from './sql.ts'

/** Migrations that came after the person and that they have not applied. */
const pending = `from frontend_migrations m join users u on u.id = $1
    where m.created_at > u.created_at
      and not exists (select from applied_frontend_migrations a where a.user_id = u.id and a.migration_id = m.id)`

/** Values: the user's id. The data is sealed. */
export const listPendingMigrations = statement<{ name: string; data: string | null }>(
  'list-pending-migrations',
  `select m.name,
          (select d.data from frontend_migration_userdata d where d.user_id = u.id and d.migration_id = m.id) as data
   ${pending} order by m.name`,
)

/** Values: the user's id. */
export const countPendingMigrations = statement<{ pending: number }>(
  'count-pending-migrations',
  `select count(*)::int as pending ${pending}`,
)
