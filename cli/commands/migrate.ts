import { defineCommand } from 'citty'
import { json, type Session } from '../command-context.ts'

export const migrate = (session: Session) =>
  defineCommand({
    meta: { description: 'Bring the database to the newest schema' },
    args: {
      generate: { type: 'boolean', description: 'For developers: write the migration that the entities need' },
      json,
    },
    run: ({ args }) => (args.generate ? generate(session) : apply(session)),
  })

/** Opening the database migrates it, as every start does. */
async function apply(session: Session): Promise<void> {
  const applied = await session.open(async ({ migrated }) => migrated, 'migration')
  const words = applied.length > 0 ? `Applied: ${applied.join(', ')}.` : 'The database is up to date.'
  session.tell({ record: { applied }, words })
}

async function generate(session: Session): Promise<void> {
  const { generateMigration } = await import('../../server/database/generate-migration.ts')
  const file = (await generateMigration()) ?? null
  session.tell({
    record: { file },
    words: file ? `Written: ${file}.` : 'The migrations make what the entities declare.',
  })
}
