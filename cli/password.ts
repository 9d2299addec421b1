import { z } from 'zod'
import { newPassword } from '../routers/identity/password.ts'
import type { CommandContext } from './command-context.ts'
import { UsageError } from './errors.ts'

/** The flag of commands that take a password. */
export const passwordStdin = {
  'password-stdin': { type: 'boolean', description: 'Read the password from standard input; at a terminal ask for it' },
} as const

/** A new password: typed twice where somebody is at the terminal, who may type none where it is optional; else piped in. */
export async function readPassword(
  { prompts: ask, piped }: CommandContext,
  { optional = false } = {},
): Promise<string> {
  if (ask.interactive && !optional) return ask.newPassword('New password', newPassword)
  if (ask.interactive)
    return ask.newPassword('Password; none for somebody who only uses tokens', z.union([newPassword, z.literal('')]))
  const { data, error } = newPassword.safeParse(await piped())
  if (error) throw new UsageError(`--password-stdin: the password ${error.issues[0]?.message}.`)
  return data
}
