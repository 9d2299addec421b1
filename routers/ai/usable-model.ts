import type { FindModel } from '../ports/ai/callable-models.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { usableGroups } from '../verbs/viewer.ts'
import type { ChatContext } from './chat-context.ts'

/** Finds the model of a name that the caller may ask. One for other groups is as one that is not there. */
export async function findUsableModel(
  { caller, usage, services }: ChatContext,
  name: string,
  makes: 'chat' | 'embedding',
  find: FindModel = services.callableModels.find,
): Promise<CallableModel | undefined> {
  const model = await find(name, usage, makes)
  const groups = usableGroups(caller)
  const isFor = (allowed: readonly string[]) => allowed.length === 0 || allowed.some((group) => groups?.includes(group))
  return model && (groups === null || (isFor(model.groups) && isFor(model.providerGroups))) ? model : undefined
}
