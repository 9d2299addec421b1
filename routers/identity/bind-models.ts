import { z } from 'zod'
import type { BoundModel } from '../../entities/identity/access-token.ts'
import { type BindableModel, listBindableModels } from '../../entities/views/bindable-model.sql.ts'
import type { Person } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { removeDuplicates } from '../ports/remove-duplicates.ts'
import { MAX_TOKEN_MODELS } from '../ports/token-models.ts'
import { listGroupsOfPerson } from '../verbs/viewer.ts'

const MAX_NAME = 200

export const boundModels = z
  .array(z.string().trim().min(1, 'must not be empty').max(MAX_NAME, `must have at most ${MAX_NAME} characters`))
  .min(1, 'must name a model or an assistant')
  .max(MAX_TOKEN_MODELS, `must have at most ${MAX_TOKEN_MODELS} names`)
  .overwrite(removeDuplicates)
  .describe(
    'The models that the token may ask, and the assistants, each as `assistant/<handle>`, which stands for all of its versions; all if absent. An assistant asks its own models.',
  )

/** Lists what a new token of the person can be bound to, or those of it that have some names. */
export const listBindable = (
  { services: { sql } }: Context,
  person: Pick<Person, 'id' | 'groups' | 'role'>,
  names: readonly string[] | null = null,
): Promise<BindableModel[]> => sql(listBindableModels, [person.id, person.groups, listGroupsOfPerson(person), names])

const describeRefusal = (name: string) =>
  `must name models and assistants that the person may use with a token, unlike '${name}'`

/**
 * Resolves names to what a token of the person is bound to: an assistant by its id, as its handle can come to name another
 * one. Throws for each name that the person's programs may not ask, and says no more about it.
 */
export async function bindModels(
  ctx: Context,
  person: Pick<Person, 'id' | 'groups' | 'role'>,
  names: readonly string[] | undefined,
): Promise<BoundModel[] | null> {
  if (!names) return null
  const offered = new Map((await listBindable(ctx, person, names)).map((model) => [model.name, model.assistantId]))
  const issues = names.flatMap((name, at) =>
    offered.has(name) ? [] : [{ path: ['models', at], message: describeRefusal(name) }],
  )
  if (issues.length > 0) throw new Problem('invalid', { issues })
  return names.map((name) => {
    const assistantId = offered.get(name)
    return typeof assistantId === 'number' ? { name, assistantId } : { name }
  })
}
