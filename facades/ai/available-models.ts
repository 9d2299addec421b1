import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type Api, createCaller } from '../../routers/index.ts'

export type AvailableModel = Awaited<ReturnType<Api['ai']['models']>>[number]

/** Lists the models of the given types that the caller may use. */
export async function listModels(
  ctx: Context,
  types: readonly AvailableModel['modelType'][],
): Promise<AvailableModel[]> {
  return (await createCaller(ctx).ai.models()).filter(({ modelType }) => types.includes(modelType))
}

/** Finds one of them by its id. */
export async function findModel(
  ctx: Context,
  id: string,
  types: readonly AvailableModel['modelType'][],
): Promise<AvailableModel> {
  const found = (await listModels(ctx, types)).find(({ modelId }) => modelId === id)
  if (found) return found
  throw new Problem('invalid', { issues: [{ path: ['model'], message: 'is not a model that you may use' }] })
}
