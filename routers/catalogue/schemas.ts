import { z } from 'zod'
import { usageTypes } from '../../entities/sql/columns.ts'
import { groupName, MAX_GROUPS } from '../ports/login.ts'
import { removeDuplicates } from '../ports/remove-duplicates.ts'

/** Text that people enter, which must not be blank. */
export const text = (max: number) => z.string().trim().min(1).max(max)

/** A subset of a few words; duplicates are dropped. */
export const toSubset = <const W extends readonly string[]>(words: W) =>
  z.array(z.enum(words)).max(20).overwrite(removeDuplicates)

/** Names of the groups whose people may use something. */
export const groupList = z.array(groupName).max(MAX_GROUPS).overwrite(removeDuplicates)

/** A task for which the service itself asks a model. */
export const task = text(80).describe(
  'The task: `default`, `title_generation`, `prompt_improvement`, `summary`, or another word.',
)
export const taskUsage = z
  .enum(usageTypes)
  .describe('The callers for whom the choice applies: the front end, or programs.')
