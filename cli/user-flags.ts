import { z } from 'zod'
import { type UserChoice, userChoice } from '../routers/identity/user-selector.ts'
import type { CommandContext } from './command-context.ts'
import { UsageError } from './errors.ts'

/** The flags that select a user. */
export const userFlags = {
  username: { type: 'string', description: 'The user by username' },
  email: { type: 'string', description: 'The user by e-mail address' },
  id: { type: 'string', description: 'The user by id' },
} as const

export type UserFlags = { [way in keyof typeof userFlags]?: string | undefined }

const ways = z.enum(['username', 'email', 'id'])
const labels = { username: 'username', email: 'email address', id: 'user id' }

/**
 * Who is meant; `missing` are the flags of questions that follow. Somebody who does not exist is told before they answer
 * those.
 */
export async function chooseKnownUser(context: CommandContext, flags: UserFlags, missing: readonly string[]) {
  const user = await chooseUser(context, flags)
  for (const flag of missing) context.prompts.expect(flag)
  if (missing.length > 0) await context.open(({ host }) => host.users.find({ user }))
  return user
}

/** Selects a user by a flag or, at a terminal, by a prompt. */
export async function chooseUser({ prompts: ask }: CommandContext, flags: UserFlags): Promise<UserChoice> {
  const given = ways.options.filter((way) => flags[way] !== undefined)
  if (given.length > 1) throw new UsageError('Give only one of --username, --email and --id.')
  const way = await ask.choice({
    flag: '--username, --email or --id',
    given: given[0],
    message: 'Choose the identification method',
    schema: ways,
    options: ways.options.map((value) => ({ value, label: labels[value] })),
  })
  return ask.text({
    flag: `--${way}`,
    given: flags[way],
    message: `Enter the identification value (${labels[way]})`,
    schema: z.preprocess((value) => ({ [way]: value }), userChoice),
  })
}
