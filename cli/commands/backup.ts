import { resolve } from 'node:path'
import { defineCommand } from 'citty'
import type { BackupSummary } from '../../routers/ports/backups.ts'
import { readEnv } from '../../server/config/env.ts'
import { type CommandContext, json } from '../command-context.ts'
import { formatProperties } from '../output.ts'

export const backupCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Copy, verify or restore the whole installation: database, files, accounts and announcements, but never the keys.',
    },
    subCommands: { create: createCommand(context), verify: verifyCommand(context), restore: restoreCommand(context) },
  })

const createCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Copy the installation into a folder while the service runs.' },
    args: { folder: createFolderArgument('A new or empty folder.'), json },
    async run({ args }) {
      const record = await context.open(({ host }) => host.backups.create({ folder: resolve(args.folder) }))
      printSummary(
        context,
        record,
        'The keys are not in it: keep APP_KEY, or app.key of DATA_DIR, and the salts apart.',
      )
    },
  })

const verifyCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Prove that a backup is whole, and that the keys of this installation open it.' },
    args: { folder: createFolderArgument('The folder of the backup.'), json },
    async run({ args }) {
      const record = await context.open(({ host }) => host.backups.verify({ folder: resolve(args.folder) }))
      printSummary(context, record, 'It is as it was written.')
    },
  })

const restoreCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description: 'Restore a backup into an empty installation, whose keys are in place and whose service is stopped.',
    },
    args: { folder: createFolderArgument('The folder of the backup.'), json },
    async run({ args }) {
      const { restoreBackup } = await import('../../server/backup/restore.ts')
      const env = readEnv(context.env)
      const record = await context.runInterruptible((signal) => restoreBackup(resolve(args.folder), env, signal))
      // Migrates the database to the newest schema, and adds an entry to the audit log.
      await context.open(({ host }) => host.changeLog.restored(), 'migration')
      printSummary(context, record, 'It is restored. Start the service, then run `svc files verify`.')
    },
  })

const createFolderArgument = (description: string) => ({ type: 'positional', required: true, description }) as const

const printSummary = (context: CommandContext, record: BackupSummary, sentence: string) =>
  context.print({ record, text: `${formatProperties({ ...record })}\n\n${sentence}` })

export const restoredCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Declare that the database was restored from a copy of its disk, so that clients read everything again.',
    },
    args: { json },
    async run() {
      await context.open(({ host }) => host.changeLog.restored())
      context.print({
        record: { restored: true },
        text: 'Positions in the change log from before are refused from now on.',
      })
    },
  })
