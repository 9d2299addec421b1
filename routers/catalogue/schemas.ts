import { z } from 'zod'
import { usageTypes } from '../../entities/sql/columns.ts'
import { groupName, MAX_GROUPS } from '../ports/login.ts'
import { removeDuplicates } from '../verbs/write-inputs.ts'

/** What somebody types: a text that is not blank. */
export const text = (max: number) => z.string().trim().min(1).max(max)

export const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .refine((address) => !isWithUser(address), 'must have no user name or password in it')

/** Everybody who may see the address would see these, and no request carries them. */
function isWithUser(address: string): boolean {
  const url = URL.parse(address)
  return url !== null && `${url.username}${url.password}` !== ''
}

/** Some of a few words, also where some come twice. */
export const toSubset = <const W extends readonly string[]>(few: W) =>
  z.array(z.enum(few)).max(20).overwrite(removeDuplicates)

/** The groups whose people may use something. */
export const usingGroups = z.array(groupName).max(MAX_GROUPS).overwrite(removeDuplicates)

/** What the service itself asks models for. */
export const task = text(80).describe(
  'The task: `default`, `title_generation`, `prompt_improvement`, `summary`, or another word.',
)
export const taskUsage = z.enum(usageTypes).describe('For the front end, or for programs.')
