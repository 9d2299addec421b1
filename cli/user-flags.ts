import { z } from 'zod'
import { type UserChoice, userChoice } from '../routers/identity/user-selector.ts'
import type { CommandContext } from './command-context.ts'
import { UsageError } from './errors.ts'

/** Flags that select a user. */
export const userFlags = {
  username: { type: 'string', description: 'The user by username' },
  email: { type: 'string', description: 'The user by e-mail address' },
  id: { type: 'string', description: 'The user by id' },
} as const

export type UserFlags = { [identifier in keyof typeof userFlags]?: string | undefined }

const identifiers = z.enum(['username', 'email', 'id'])
const labels = { username: 'username', email: 'email address', id: 'user id' }

/**
 * Selects a user. If flags are `missing`, so that questions follow, an unknown user is reported before they are asked.
 */
export async function chooseKnownUser(context: CommandContext, flags: UserFlags, missing: readonly string[]) {
  const user = await chooseUser(context, flags)
  for (const flag of missing) context.prompts.requireTerminal(flag)
  if (missing.length > 0) await context.open(({ host }) => host.users.find({ user }))
  return user
}

/** Selects a user by a flag or, at a terminal, by a prompt. */
export async function chooseUser({ prompts }: CommandContext, flags: UserFlags): Promise<UserChoice> {
  const selected = identifiers.options.filter((identifier) => flags[identifier] !== undefined)
  if (selected.length > 1) throw new UsageError('Give only one of --username, --email and --id.')
  const identifier = await prompts.askChoice({
    flag: '--username, --email or --id',
    value: selected[0],
    message: 'Choose the identification method',
    schema: identifiers,
    options: identifiers.options.map((value) => ({ value, label: labels[value] })),
  })
  return prompts.askText({
    flag: `--${identifier}`,
    value: flags[identifier],
    message: `Enter the identification value (${labels[identifier]})`,
    schema: z.preprocess((value) => ({ [identifier]: value }), userChoice),
  })
}
