import { z } from 'zod'
import { roles } from '../entities/identity/user.ts'
import { type UserSelector, userSelector } from '../routers/identity/user-selector.ts'
import { email, personName, username } from '../routers/ports/login.ts'
import type { CommandContext } from './command-context.ts'
import { UsageError } from './errors.ts'
import { parseOptionalFlag } from './flag-values.ts'

/** Flags that select a user. */
export const userFlags = {
  username: { type: 'string', description: 'The username of the user.' },
  email: { type: 'string', description: 'The e-mail address of the user.' },
  id: { type: 'string', description: 'The id of the user.' },
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
export async function chooseUser({ prompts }: CommandContext, flags: UserFlags): Promise<UserSelector> {
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
    schema: z.preprocess((value) => ({ [identifier]: value }), userSelector),
  })
}

/** Flags that describe a new user. */
export const newUserFlags = {
  username: { type: 'string', description: 'The name that the user signs in with.' },
  email: { type: 'string', description: 'The e-mail address of the user.' },
  name: { type: 'string', description: 'The name that others see.' },
  role: { type: 'string', description: `The role is ${roles.join(' or ')}; user if absent.` },
} as const

type NewUserFlags = { [name in keyof typeof newUserFlags]?: string | undefined }

/** Reads the members of a new user from flags or, at a terminal, from prompts. */
export async function askNewUser({ prompts }: CommandContext, flags: NewUserFlags) {
  const { role, ...names } = await prompts.readAll({
    username: () =>
      prompts.askText({ flag: '--username', value: flags.username, message: 'Username', schema: username }),
    email: () => prompts.askText({ flag: '--email', value: flags.email, message: 'Email address', schema: email }),
    name: () => prompts.askText({ flag: '--name', value: flags.name, message: 'Display name', schema: personName }),
    role: () => parseOptionalFlag('role', z.enum(roles), flags.role, '--role'),
  })
  return { ...names, ...role }
}
