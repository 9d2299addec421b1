import { defineCommand } from 'citty'
import { z } from 'zod'
import type { Api } from '../../routers/index.ts'
import { type CommandContext, json } from '../command-context.ts'
import { commaList, requiredText, typedNumber } from '../flag-values.ts'
import { formatProperties, formatTable } from '../output.ts'
import { chooseUser, userFlags } from '../user-flags.ts'

export const oauthCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the programs that people can sign in, instead of pasting a token into them.' },
    subCommands: {
      clients: listClientsCommand(context),
      grants: listGrantsCommand(context),
      end: endGrantCommand(context),
      register: registerCommand(context),
      rotate: rotateCommand(context),
      block: blockCommand(context, true),
      unblock: blockCommand(context, false),
      check: checkCommand(context),
    },
  })

const clientId = {
  type: 'positional',
  required: true,
  description: 'The id of the program, as `svc oauth clients` prints it.',
} as const

const idSchema = typedNumber.pipe(z.int('must be a whole number').min(1))

type Client = Awaited<ReturnType<Api['oauth']['clients']>>['clients'][number]

/** The most rows that the service returns at once. */
const MAX_ROWS = 200

async function readClients(host: Api, search: string | undefined): Promise<Client[]> {
  const all: Client[] = []
  for (;;) {
    const page = { limit: MAX_ROWS, offset: all.length, ...(search && { search }) }
    const { clients, total } = await host.oauth.clients(page)
    all.push(...clients)
    if (clients.length === 0 || all.length >= total) return all
  }
}

const listClientsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the programs that people have signed in, and those that are registered or blocked.' },
    args: { search: { type: 'string', description: 'A part of the name or host.' }, json },
    async run({ args: { search } }) {
      const record = await context.open(({ host }) => readClients(host, search))
      const rows = record.map(({ id, name, kind, host, people, lastUsedAt, blocked }) => ({
        id,
        name,
        kind,
        host,
        people,
        lastUsed: lastUsedAt,
        blocked,
      }))
      const none = 'There are no programs.'
      context.print({ record, text: formatTable(rows, none, { width: context.width, cuttable: ['name', 'host'] }) })
    },
  })

const listGrantsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the programs that a user has signed in.' },
    args: { ...userFlags, json },
    async run({ args }) {
      const user = await chooseUser(context, args)
      const record = await context.open(({ host }) => host.oauth.grantsOf({ user }))
      const rows = record.map(({ id, name, host, abilities, servers, lastUsedAt, endsAt }) => ({
        id,
        name,
        host,
        abilities,
        servers: servers?.map(({ label }) => label) ?? 'all',
        lastUsed: lastUsedAt,
        ends: endsAt,
      }))
      context.print({ record, text: formatTable(rows, 'This user has signed in no program.') })
    },
  })

const endGrantCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'End the access of a program of a user, with its running calls.' },
    args: {
      ...userFlags,
      grant: { type: 'string', description: 'The id of the access, as `svc oauth grants` prints it.' },
      yes: { type: 'boolean', description: 'Do not ask for confirmation.' },
      json,
    },
    async run({ args }) {
      const { prompts } = context
      const { user, id } = await prompts.readAll({
        user: () => chooseUser(context, args),
        id: () =>
          prompts.askText({ flag: '--grant', value: args.grant, message: 'Id of the access', schema: idSchema }),
      })
      if (!args.yes) await prompts.requireConsent('--yes', `End access ${id}? The program must be signed in again.`)
      const record = await context.open(({ host }) => host.oauth.endGrantFor({ user, id }))
      context.print({ record, text: `Access ${id} has ended.` })
    },
  })

const registerCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Register a program that people can then sign in, and show its id and secret once.' },
    args: {
      name: { type: 'string', description: 'The name that people see.' },
      redirect: {
        type: 'string',
        description: 'The addresses to which the program has people sent back, separated by commas.',
      },
      secret: { type: 'boolean', description: 'Give it a secret, for a program on a server that can keep one.' },
      json,
    },
    async run({ args }) {
      const { prompts } = context
      const { name, redirectUris } = await prompts.readAll({
        name: () => prompts.askText({ flag: '--name', value: args.name, message: 'Name', schema: requiredText }),
        redirectUris: () =>
          prompts.askText({
            flag: '--redirect',
            value: args.redirect,
            message: 'Addresses to return to, separated by commas',
            schema: requiredText.pipe(commaList),
          }),
      })
      const input = { name, redirectUris, hasSecret: args.secret ?? false }
      const record = await context.open(({ host }) => host.oauth.registerClient(input))
      const secret = record.clientSecret
        ? `\n\nSecret. Copy it now, it is not shown again:\n\n${record.clientSecret}`
        : '\n\nIt has no secret.'
      const text = `Program ${record.id} is registered. Its client_id:\n\n${record.clientId}${secret}`
      context.print({ record, text })
    },
  })

const rotateCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Give a registered program another secret. The earlier one ends at once.' },
    args: { id: clientId, yes: { type: 'boolean', description: 'Do not ask for confirmation.' }, json },
    async run({ args }) {
      const id = await readId(context, args.id)
      if (!args.yes)
        await context.prompts.requireConsent('--yes', `Give program ${id} another secret? It fails until it has it.`)
      const record = await context.open(({ host }) => host.oauth.rotateSecret({ id }))
      context.print({ record, text: `Copy it now, it is not shown again:\n\n${record.clientSecret}` })
    },
  })

const blockCommand = (context: CommandContext, blocked: boolean) =>
  defineCommand({
    meta: {
      description: blocked
        ? 'Block a program for everybody at once: its access stops working, and its running calls end.'
        : 'Allow a blocked program again, with the access that people gave it.',
    },
    args: {
      id: clientId,
      ...(blocked && { yes: { type: 'boolean', description: 'Do not ask for confirmation.' } as const }),
      json,
    },
    async run({ args }) {
      const id = await readId(context, args.id)
      if (blocked && !args.yes)
        await context.prompts.requireConsent('--yes', `Block program ${id}, and end what it has under way?`)
      const record = await context.open(({ host }) => host.oauth.block({ id, blocked }))
      context.print({ record, text: `Program ${id} is ${blocked ? 'blocked' : 'allowed'}.` })
    },
  })

const readId = ({ prompts }: CommandContext, id: string) =>
  prompts.askText({ flag: 'ID', value: id, message: 'Id of the program', schema: idSchema })

const checkCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Check whether people can sign programs in, and whether their documents can be fetched.' },
    args: {
      document: {
        type: 'positional',
        required: false,
        description: 'The https address of the document of a program; those of well-known programs if absent.',
      },
      json,
    },
    async run({ args: { document } }) {
      const record = await context.open(({ host }) =>
        host.oauth.check({ documents: document ? [document] : undefined }),
      )
      const { documents, obstacles, ...settings } = record
      context.hasFailed = obstacles.length > 0 || documents.some(({ problem }) => problem !== null)
      const text = [
        formatProperties(settings),
        ...(documents.length > 0 ? ['', formatTable(documents, '')] : []),
        '',
        ...(obstacles.length > 0 ? obstacles : ['People can sign programs in.']),
      ]
      context.print({ record, text: text.join('\n') })
    },
  })
