import { defineCommand } from 'citty'
import { z } from 'zod'
import { abilities } from '../../entities/identity/access-token.ts'
import { Problem } from '../../routers/core/problems.ts'
import { tokenId, tokenName } from '../../routers/identity/tokens.ts'
import type { UserChoice } from '../../routers/identity/user-selector.ts'
import { duration } from '../../routers/ports/duration.ts'
import { json, type Session } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { read } from '../prompts.ts'
import { table } from '../table.ts'
import { chooseKnownUser, chooseUser, type WhoFlags, whoFlags } from '../user-flags.ts'

interface TokenFlags extends WhoFlags {
  name?: string | undefined
  abilities?: string | undefined
  expires?: string | undefined
  'token-id'?: string | undefined
  yes?: boolean | undefined
  revoke?: boolean | undefined
}

export const token = (session: Session) =>
  defineCommand({
    meta: { description: 'Create, list or revoke the access tokens of a user' },
    args: {
      list: { type: 'boolean', description: 'List instead of create, expired tokens too' },
      revoke: { type: 'boolean', description: 'Revoke instead of create' },
      ...whoFlags,
      name: { type: 'string', description: 'Name of the new token, at most 16 characters' },
      abilities: { type: 'string', description: `What it may do: ${abilities.join(',')}; ai,user,read when absent` },
      expires: { type: 'string', description: 'How long it works, such as 12h, 90d or 1y; for ever when absent' },
      'token-id': { type: 'string', description: 'The token to revoke' },
      yes: { type: 'boolean', description: 'Revoke without asking' },
      json,
    },
    run: ({ args }) => {
      if (args.list) return listAll(session, args)
      return args.revoke ? revoke(session, args) : create(session, args)
    },
  })

const list = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .pipe(z.array(z.enum(abilities)))

const CENTURY = 100 * 365 * 86_400_000

/** A number alone would be milliseconds, which nobody means here. */
const lifetime = z
  .string()
  .regex(/[a-z]\s*$/i, 'needs a unit, as in 12h, 90d or 1y')
  .transform((text): string | number => text)
  .pipe(duration)
  .refine((length) => length <= CENTURY, 'must be at most a hundred years')
  .transform((length) => new Date(Date.now() + length))

async function create(session: Session, flags: TokenFlags): Promise<void> {
  only(flags, ['token-id', 'yes'], 'goes with --revoke')
  const granted = flags.abilities === undefined ? {} : { abilities: read(list, flags.abilities, '--abilities') }
  const limited = flags.expires === undefined ? {} : { expiresAt: read(lifetime, flags.expires, '--expires') }
  const user = await chooseKnownUser(session, flags, flags.name === undefined ? ['--name'] : [])
  const wanted = await session.ask.text({
    flag: '--name',
    given: flags.name,
    message: 'Enter a token name of at most 16 characters',
    schema: tokenName,
  })
  const made = await session.open(({ host }) => host.tokens.createFor({ user, name: wanted, ...granted, ...limited }))
  const { id, name, token } = made
  session.tell({ record: { id, name, token }, words: `Token ${id}. Copy it now, it is not shown again:\n\n${token}\n` })
}

async function listAll(session: Session, flags: TokenFlags): Promise<void> {
  only(flags, ['revoke', 'name', 'abilities', 'expires', 'token-id', 'yes'], 'does not go with --list')
  const user = await chooseUser(session, flags)
  const record = await session.open(({ host }) => host.tokens.listFor({ user }))
  session.tell({ record, words: table(record, NO_TOKENS) })
}

const NO_TOKENS = 'This user has no tokens.'

async function revoke(session: Session, flags: TokenFlags): Promise<void> {
  only(flags, ['name', 'abilities', 'expires'], 'does not go with --revoke')
  const asksConsent = flags['token-id'] !== undefined && !flags.yes
  const user = await chooseKnownUser(session, flags, asksConsent ? ['--yes'] : [])
  if (flags['token-id'] === undefined) await showTokens(session, user)
  const id = await session.ask.text({
    flag: '--token-id',
    given: flags['token-id'],
    message: 'Enter the id of the token to revoke',
    schema: tokenId,
  })
  if (!flags.yes) await session.ask.consent('--yes', `Revoke token ${id}? It stops working at once.`)
  const revoked = await session.open(({ host }) => host.tokens.revokeFor({ user, tokenId: id }))
  session.tell({ record: { id: revoked.id, revoked: true }, words: `Token ${revoked.id} is revoked.` })
}

async function showTokens(session: Session, user: UserChoice): Promise<void> {
  session.ask.expect('--token-id')
  const tokens = await session.open(({ host }) => host.tokens.listFor({ user }))
  if (tokens.length === 0) throw new Problem('not_found', { detail: NO_TOKENS })
  session.ask.show(table(tokens, ''))
}

/** A flag of the other half would be left without effect, and somebody believes that it had one. */
function only(flags: TokenFlags, others: readonly (keyof TokenFlags)[], why: string): void {
  const stray = others.find((name) => flags[name] !== undefined)
  if (stray) throw new UsageError(`--${stray} ${why}.`)
}
