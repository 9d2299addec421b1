import { FrontendMigration, FrontendMigrationUserdata } from '../../entities/identity/frontend-migration.ts'
import { User } from '../../entities/identity/user.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import type { FrontendMigrationFile } from '../ports/frontend-migrations.ts'
import { USERDATA } from '../ports/vault.ts'

/** `YYYY_MM_DD_HHMMSS_{run type}_{name}`. */
export const migrationName = /^\d{4}_\d{2}_\d{2}_\d{6}_[a-z0-9_]{1,150}$/

/** Stores new migrations, each with the data for the existing people. Returns their names. */
export async function registerMigrations(
  ctx: Context,
  files: ReadonlyMap<string, FrontendMigrationFile>,
): Promise<string[]> {
  if (files.size === 0) return []
  return runInTransaction(ctx, undefined, async (em) => {
    // The lock makes replicas that start at the same time take turns.
    await runStatement(em, acquireLock, [locks.registerFrontendMigrations])
    const known = new Set((await em.findAll(FrontendMigration)).map(({ name }) => name))
    const newFiles = [...files].filter(([name]) => !known.has(name)).sort(([a], [b]) => a.localeCompare(b))
    for (const [name, file] of newFiles) {
      const row = em.create(FrontendMigration, { name })
      await em.flush()
      const people = file.userdata ? await em.find(User, {}, { fields: ['id', 'username'] }) : []
      const data = await Promise.all(
        people.map(async ({ id, username }) => [id, await file.userdata?.({ id, username })] as const),
      )
      const sealed = data.flatMap(([user, value]) =>
        value ? [{ user, migration: row.id, data: ctx.services.vault.seal(JSON.stringify(value), USERDATA) }] : [],
      )
      if (sealed.length > 0) await em.insertMany(FrontendMigrationUserdata, sealed)
    }
    return newFiles.map(([name]) => name)
  })
}
