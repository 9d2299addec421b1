import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'

export const migrateCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Update the database to the newest schema.' },
    args: {
      generate: { type: 'boolean', description: 'Write the migration that the entities need. This is for developers.' },
      json,
    },
    run: ({ args }) => (args.generate ? generate(context) : apply(context)),
  })

/** Opening the database migrates it, as each start does. */
async function apply(context: CommandContext): Promise<void> {
  const applied = await context.open(async ({ migrated }) => migrated, 'migration')
  const text = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'The database is up to date.'
  context.print({ record: { applied }, text })
}

async function generate(context: CommandContext): Promise<void> {
  const { generateMigration } = await import('../../server/database/generate-migration.ts')
  const file = (await context.runInterruptible(generateMigration)) ?? null
  context.print({
    record: { file },
    text: file ? `Written: ${file}.` : 'The migrations make what the entities declare.',
  })
}
