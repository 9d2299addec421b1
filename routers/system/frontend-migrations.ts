import { z } from 'zod'
import {
  AppliedFrontendMigration,
  FrontendMigration,
  FrontendMigrationUserdata,
  listOwnMigrations,
  listPendingMigrations,
} from '../../entities/identity/frontend-migration.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, host, router, sessionUser } from '../core/trpc.ts'
import { USERDATA } from '../ports/vault.ts'
import { attribute, defineResource } from '../resource/declare.ts'
import type { RecordOf } from '../resource/record.ts'
import { action } from '../verbs/action.ts'
import { defineComputedReads } from '../verbs/computed.ts'
import { registerMigrations } from './register-frontend-migrations.ts'

export const migrations = defineResource({
  type: 'migrations',
  about:
    "Pending changes of data that only the caller's browser can decrypt. A completed one can still be read by id, but lists omit it.",
  attributes: {
    data: attribute(
      z.record(z.string(), z.unknown()).nullable().describe('The data of the caller that the change needs.'),
    ),
  },
})

type Migration = RecordOf<typeof migrations>

const readOwnMigrations =
  (statement: typeof listPendingMigrations) =>
  async (ctx: Context): Promise<Migration[]> => {
    const { current } = ctx.callerContext
    const rows = await ctx.services.sql(statement, [current.type === 'user' ? current.person.id : 0])
    return rows.map(({ name, data }) => ({ id: name, data: openData(ctx, data) }))
  }

const openData = ({ services }: Context, sealed: string | null): Migration['data'] =>
  sealed ? JSON.parse(services.vault.open(sealed, USERDATA)) : null

/** Accepts the snake case member of earlier front ends. */
const acceptLegacyKeys = (input: unknown): unknown => {
  if (typeof input !== 'object' || input === null || !('migration_name' in input)) return input
  const { migration_name: migrationName, ...rest } = input
  return { migrationName, ...rest }
}

export const migrationsRouter = router({
  list: defineComputedReads(migrations, readOwnMigrations(listPendingMigrations)).list,
  // The response to `apply` links to it.
  get: defineComputedReads(migrations, readOwnMigrations(listOwnMigrations)).get,

  /** Stores the configured migrations that are new. */
  register: host.mutation(async ({ ctx }) => registerMigrations(ctx, await ctx.services.texts.frontendMigrations())),

  /** Repeating the call is harmless. */
  markApplied: action(migrations, 'apply', sessionUser)
    .meta(about("Record that the caller's browser has carried out a migration."))
    .input(z.preprocess(acceptLegacyKeys, z.strictObject({ migrationName: z.string().min(1).max(200) })))
    .mutation(async ({ ctx, input }) => ({
      data: [await markApplied(ctx, ctx.caller.person.id, input.migrationName)],
    })),
})

async function markApplied(ctx: Context, user: number, name: string): Promise<Migration> {
  return runInTransaction(ctx, undefined, async (em) => {
    const migration = await em.findOne(FrontendMigration, { name })
    if (!migration) throw new Problem('not_found', { detail: 'Migration not found.' })
    const key = { user, migration: migration.id }
    const userdata = await em.findOne(FrontendMigrationUserdata, key)
    await em.nativeDelete(FrontendMigrationUserdata, key)
    await em.upsert(AppliedFrontendMigration, key, { onConflictAction: 'ignore' })
    return { id: name, data: openData(ctx, userdata?.data ?? null) }
  })
}
