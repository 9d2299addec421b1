import { type ArgsDef, defineCommand, type ParsedArgs } from 'citty'
import { z } from 'zod'
import { announcementTypes } from '../../entities/system/announcement.ts'
import { moment } from '../../routers/ports/days.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { commaList, parseOptionalFlag } from '../flag-values.ts'
import { LIST } from '../flags.ts'
import { formatTable } from '../output.ts'
import type { Prompts } from '../prompts.ts'

const title = z.string().trim().min(1, 'must not be empty').max(200)
const folder = z.string().min(1)

export const announcementCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the texts that people should read or must accept.' },
    subCommands: {
      make: makeAnnouncementCommand(context),
      publish: publishAnnouncementCommand(context),
      list: listCommand(context),
    },
  })

export const makeAnnouncementCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Write the files of a new announcement, one for each language, to edit and publish.' },
    args: { title: { type: 'positional', required: false, description: 'The title of the announcement.' }, json },
    async run({ args }) {
      const newTitle = await context.prompts.askText({
        flag: 'TITLE',
        value: args.title,
        message: 'Title',
        schema: title,
      })
      const record = await context.open(({ host }) => host.announcements.make({ title: newTitle }))
      context.print({ record, text: `Written: ${record.files.join(', ')}. Publish it as ${record.view}.` })
    },
  })

const publishArgs = {
  title: { type: 'positional', required: false, description: 'The title of the announcement.' },
  view: { type: 'positional', required: false, description: 'The folder of the texts of the announcement.' },
  type: { type: 'string', description: `The type is one of ${announcementTypes.join(', ')}; info if absent.` },
  force: { type: 'boolean', description: 'People must accept it before they write or ask a model.' },
  global: { type: 'boolean', description: 'Everybody sees it. This is the default without --users.' },
  users: {
    type: 'string',
    valueHint: LIST,
    description: 'The usernames of those who see it, separated by commas, or one flag for each; everybody if absent.',
  },
  anchor: { type: 'string', description: 'The event of the front end that shows it, such as FileUpload.' },
  start: {
    type: 'string',
    description: 'The time from which it is shown, such as 2026-01-31T08:00:00Z; now if absent.',
  },
  expire: { type: 'string', description: 'The time until which it is shown; for ever if absent.' },
  json,
} as const satisfies ArgsDef

export const publishAnnouncementCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show an announcement to everybody, or to some.' },
    args: publishArgs,
    async run({ args }) {
      const input = await readPublication(args, context.prompts)
      const record = await context.open(({ host }) => host.announcements.publish(input))
      const people = record.people === null ? 'everybody' : `${record.people} people`
      context.print({ record, text: `Published for ${people}, with the id ${record.id}.` })
    },
  })

function assertOneAudience({ global, users }: Pick<ParsedArgs<typeof publishArgs>, 'global' | 'users'>): void {
  if (global && users !== undefined)
    throw new UsageError('Give only one of --global, for everybody, and --users, for some.')
}

/** Reads the input from flags, and asks for a missing title and folder. */
async function readPublication(args: ParsedArgs<typeof publishArgs>, prompts: Prompts) {
  const { force = false, anchor } = args
  const {
    title: newTitle,
    view,
    ...values
  } = await prompts.readAll({
    people: () => assertOneAudience(args),
    title: () => prompts.askText({ flag: 'TITLE', value: args.title, message: 'Title', schema: title }),
    view: () => prompts.askText({ flag: 'VIEW', value: args.view, message: 'Folder of its texts', schema: folder }),
    type: () => parseOptionalFlag('type', z.enum(announcementTypes), args.type, '--type'),
    start: () => parseOptionalFlag('start', moment, args.start, '--start'),
    expire: () => parseOptionalFlag('expire', moment, args.expire, '--expire'),
  })
  return {
    title: newTitle,
    view,
    ...values.type,
    ...values.start,
    ...values.expire,
    force,
    ...(args.users !== undefined && { users: commaList.parse(args.users) }),
    anchor,
  }
}

const listCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the announcements with the numbers of people who have seen and accepted each.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.announcements.list())
      context.print({ record, text: formatTable(record, 'There are no announcements.') })
    },
  })
