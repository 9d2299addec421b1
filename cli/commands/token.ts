import { defineCommand } from 'citty'
import { z } from 'zod'
import { abilities } from '../../entities/identity/access-token.ts'
import { readTokenReference } from '../../entities/identity/token-reference.ts'
import { Problem } from '../../routers/core/problems.ts'
import { boundModels } from '../../routers/identity/bind-models.ts'
import { tokenId, tokenName } from '../../routers/identity/tokens.ts'
import type { Api } from '../../routers/index.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { commaList, lifetime, parseOptionalFlag } from '../flag-values.ts'
import { formatProperties, formatTable } from '../output.ts'
import { chooseKnownUser, chooseUser, type UserFlags, userFlags } from '../user-flags.ts'

interface TokenFlags extends UserFlags {
  name?: string | undefined
  abilities?: string | undefined
  models?: string | undefined
  expires?: string | undefined
  'token-id'?: string | undefined
  yes?: boolean | undefined
  revoke?: boolean | undefined
  find?: boolean | undefined
}

type FoundToken = Awaited<ReturnType<Api['tokens']['find']>>

export const tokenCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Create, list, find or revoke the access tokens of a user.' },
    args: {
      list: { type: 'boolean', description: 'List the tokens instead of creating one, including expired ones.' },
      revoke: { type: 'boolean', description: 'Revoke a token instead of creating one.' },
      find: {
        type: 'boolean',
        description:
          'Find the owner of a token, by the token or its beginning on standard input. With --revoke, revoke it.',
      },
      ...userFlags,
      name: { type: 'string', description: 'The name of the new token, at most 16 characters.' },
      abilities: {
        type: 'string',
        description: `The abilities of the token: ${abilities.join(',')}; ai,user,read if absent. admin allows sensitive acts of administrators.`,
      },
      models: {
        type: 'string',
        description:
          'The models and assistants that the token may ask, such as gpt-4o,assistant/helper; all that the user may if absent.',
      },
      expires: {
        type: 'string',
        description: 'The time for which the token works, such as 12h, 90d or 1y; for ever if absent.',
      },
      'token-id': { type: 'string', description: 'The id of the token to revoke.' },
      yes: { type: 'boolean', description: 'Revoke without asking for confirmation.' },
      json,
    },
    run: ({ args }) => {
      if (args.list) return listAll(context, args)
      if (args.find) return find(context, args)
      return args.revoke ? revoke(context, args) : create(context, args)
    },
  })

const abilityList = commaList.pipe(z.array(z.enum(abilities)))
const modelList = commaList.pipe(boundModels)

async function create(context: CommandContext, flags: TokenFlags): Promise<void> {
  const { prompts } = context
  const input = await prompts.readAll({
    stray: () => rejectFlags(flags, ['token-id', 'yes'], 'goes with --revoke'),
    abilities: () => parseOptionalFlag('abilities', abilityList, flags.abilities, '--abilities'),
    models: () => parseOptionalFlag('models', modelList, flags.models, '--models'),
    expiry: () => parseOptionalFlag('expiresAt', lifetime, flags.expires, '--expires'),
    user: () => chooseKnownUser(context, flags, flags.name === undefined ? ['--name'] : []),
    name: () =>
      prompts.askText({
        flag: '--name',
        value: flags.name,
        message: 'Enter a token name of at most 16 characters',
        schema: tokenName,
      }),
  })
  const { id, name, token } = await context.open(({ host }) =>
    host.tokens.createFor({ user: input.user, name: input.name, ...input.abilities, ...input.models, ...input.expiry }),
  )
  context.print({ record: { id, name, token }, text: `Token ${id}. Copy it now, it is not shown again:\n\n${token}\n` })
}

async function listAll(context: CommandContext, flags: TokenFlags): Promise<void> {
  const others = ['revoke', 'find', 'name', 'abilities', 'expires', 'token-id', 'yes'] as const
  const { user } = await context.prompts.readAll({
    stray: () => rejectFlags(flags, others, 'does not go with --list'),
    user: () => chooseUser(context, flags),
  })
  const record = await context.open(({ host }) => host.tokens.listFor({ user }))
  context.print({ record, text: formatTable(record, NO_TOKENS) })
}

const NO_TOKENS = 'This user has no tokens.'

async function revoke(context: CommandContext, flags: TokenFlags): Promise<void> {
  const needsConsent = flags['token-id'] !== undefined && !flags.yes
  const { user } = await context.prompts.readAll({
    stray: () => rejectFlags(flags, ['name', 'abilities', 'models', 'expires'], 'does not go with --revoke'),
    given: () => parseOptionalFlag('id', tokenId, flags['token-id'], '--token-id'),
    user: () => chooseKnownUser(context, flags, needsConsent ? ['--yes'] : []),
  })
  if (flags['token-id'] === undefined) context.prompts.requireTerminal('--token-id')
  const tokens = await context.open(({ host }) => host.tokens.listFor({ user }))
  if (flags['token-id'] === undefined) {
    if (tokens.length === 0) throw new Problem('not_found', { detail: NO_TOKENS })
    context.prompts.show(formatTable(tokens, ''))
  }
  const isListed = (id: number) => tokens.some((listed) => Number(listed.id) === Number(id))
  const id = await context.prompts.askText({
    flag: '--token-id',
    value: flags['token-id'],
    message: 'Enter the id of the token to revoke',
    schema: flags['token-id'] === undefined ? tokenId.refine(isListed, 'must be one of the list') : tokenId,
  })
  if (!isListed(id)) throw new Problem('not_found', { detail: `There is no token ${id} of this user.` })
  if (!flags.yes) await context.prompts.requireConsent('--yes', `Revoke token ${id}? It stops working at once.`)
  const revoked = await context.open(({ host }) => host.tokens.revokeFor({ user, tokenId: id }))
  context.print({ record: { id: revoked.id, revoked: true }, text: `Token ${revoked.id} is revoked.` })
}

/** Finds a token that has leaked. Its text is read from standard input, as arguments stay in the history of shells. */
async function find(context: CommandContext, flags: TokenFlags): Promise<void> {
  const others = ['username', 'email', 'id', 'name', 'abilities', 'models', 'expires', 'token-id'] as const
  rejectFlags(flags, others, 'does not go with --find')
  const { prompts } = context
  const reference = readTokenReference(
    prompts.isInteractive
      ? await prompts.askHiddenText('--find', 'Paste the token or its beginning')
      : await context.readStdin(),
  )
  if (!reference) throw new Problem('not_found', { detail: NO_TOKEN_OF_OURS })
  const found = await context.open(({ host }) => host.tokens.find(reference))
  if (!flags.revoke)
    return context.print({ record: found, text: `${formatProperties(found)}\n\n${explainRevocation(found)}` })
  const { kind, id, userId } = found
  if (kind === 'app' || userId === null) throw new Problem('invalid', { detail: explainRevocation(found) })
  if (!flags.yes) {
    prompts.requireTerminal('--yes')
    prompts.show(formatProperties(found))
    await prompts.requireConsent('--yes', `Revoke token ${id}? It stops working at once.`)
  }
  await context.open(({ host }) => host.tokens.revokeFor({ user: { id: userId }, tokenId: id }))
  context.print({ record: { ...found, revoked: true }, text: `Token ${id} is revoked.` })
}

const NO_TOKEN_OF_OURS =
  'This is no token of this service. Its tokens begin with svc_, an id and another _, and all up to there is needed.'

const explainRevocation = ({ kind, id, userId, appId }: FoundToken) =>
  kind === 'app'
    ? `It is a credential of an app. Give the app another one: svc app rotate ${appId} --overlap 0`
    : `To revoke it: svc token --revoke --id ${userId} --token-id ${id}`

/** Refuses flags of other actions of the command, since they would have no effect. */
function rejectFlags(flags: TokenFlags, others: readonly (keyof TokenFlags)[], why: string): void {
  const stray = others.filter((name) => flags[name] !== undefined)
  if (stray.length > 0) throw new UsageError(stray.map((name) => `--${name} ${why}.`).join('\n'))
}
