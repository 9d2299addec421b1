import { defineCommand } from 'citty'
import { z } from 'zod'
import { readEnv } from '../../server/config/env.ts'
import { makeFrontendMigration } from '../../server/config/frontend-migrations.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'

const migration = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,149}$/, 'must hold only small letters, digits and _, as after_passkey_new_keys')

/** Needs no database: the service registers the files of the folder at its next start. */
export const makeMigrationCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Write the file of a new frontend migration into FRONTEND_MIGRATIONS.' },
    args: {
      name: {
        type: 'positional',
        required: false,
        description: 'The time and purpose of the migration, such as after_passkey_new_keys.',
      },
      json,
    },
    async run({ args }) {
      const folder = readEnv(context.env).FRONTEND_MIGRATIONS
      if (!folder) throw new UsageError('Set FRONTEND_MIGRATIONS to the folder of the files.')
      const message = 'When it runs and what it does, as after_passkey_new_keys'
      const name = await context.prompts.askText({ flag: 'NAME', value: args.name, message, schema: migration })
      const file = await context.runInterruptible(() => makeFrontendMigration(folder, name))
      context.print({ record: { file }, text: `Written: ${file}.` })
    },
  })
