import type { EntityManager } from '@mikro-orm/postgresql'
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
      const data = await collectUserData(ctx, em, file)
      if (data.length > 0)
        await em.insertMany(
          FrontendMigrationUserdata,
          data.map((one) => ({ ...one, migration: row.id })),
        )
    }
    return newFiles.map(([name]) => name)
  })
}

/** Reads the data of one person after the other, because there may be very many. */
async function collectUserData({ services: { vault } }: Context, em: EntityManager, file: FrontendMigrationFile) {
  const sealed: { user: number; data: string }[] = []
  const people = file.userdata ? await em.find(User, {}, { fields: ['id', 'username'] }) : []
  for (const { id, username } of people) {
    const value = await file.userdata?.({ id, username })
    if (value) sealed.push({ user: id, data: vault.seal(JSON.stringify(value), USERDATA) })
  }
  return sealed
}
