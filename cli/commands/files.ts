import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { parseFlag, typedNumber } from '../flag-values.ts'
import { formatProperties, formatTable } from '../output.ts'

export const filesCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Check the stored files of messages, and the pictures of people and rooms.' },
    subCommands: {
      stats: statsCommand(context),
      verify: verifyCommand(context),
      rotate: rotateCommand(context),
      expired: expiredCommand(context),
    },
  })

const statsCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Count pictures, and attachments with their bytes: in all, by kind, by the state of their text, and by the largest owners.',
    },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.files.stats())
      const { kinds, textStates, linked, owners, pictures, ...all } = record
      const parts = [kinds, textStates, linked, owners].map((rows) => formatTable(rows, ''))
      const files = all.files === 0 ? ['There are no attachments.'] : [formatProperties(all), ...parts]
      context.print({ record, text: [...files, `Pictures:\n${formatProperties(pictures)}`].join('\n\n') })
    },
  })

const verifyCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Find attachments, pictures and files of knowledge that are missing, belong to nothing, or do not open. The exit code is 1 if there are any.',
    },
    args: {
      sample: { type: 'string', description: 'The percentage of files that are read to their ends; 100 if absent.' },
      json,
    },
    async run({ args: { sample } }) {
      const input = sample === undefined ? {} : { sample: parseFlag(typedNumber, sample, '--sample') }
      const record = await context.open(({ host }) => host.files.verify(input))
      const { listed, ...counts } = record
      const problems = counts['no-file'] + counts['no-owner'] + counts['unknown-key'] + counts.damaged
      context.print({ record, text: [formatProperties(counts), formatTable(listed, 'Nothing is wrong.')].join('\n\n') })
      context.hasFailed = problems > 0
    },
  })

const rotateCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Encrypt the keys of all files, the texts of assistants, and the data of pending frontend migrations, with APP_KEY. The exit code is 1 if one of them fails because its key is missing or its file cannot be read.',
    },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.files.rotate())
      context.print({ record, text: formatProperties(record) })
      context.hasFailed = record.unknown + record.unreadable > 0
    },
  })

const expiredCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show by room which files RETENTION_FILES_MONTHS would delete. The command deletes nothing.' },
    args: {
      months: { type: 'string', description: 'Another number of months, to preview its effect.' },
      json,
    },
    async run({ args: { months } }) {
      const input = months === undefined ? {} : { months: parseFlag(typedNumber, months, '--months') }
      const record = await context.open(({ host }) => host.files.expired(input))
      context.print({ record, text: formatTable(record, 'No file is that old, or RETENTION_FILES_MONTHS is not set.') })
    },
  })
