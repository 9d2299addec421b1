import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type Api, createCaller } from '../../routers/index.ts'

export type OfferedModel = Awaited<ReturnType<Api['ai']['models']>>[number]

/** The models of these types that the caller may use. */
export async function offeredModels(
  ctx: Context,
  types: readonly OfferedModel['modelType'][],
): Promise<OfferedModel[]> {
  return (await createCaller(ctx).ai.models()).filter(({ modelType }) => types.includes(modelType))
}

/** One of them, by its id. */
export async function offeredModel(
  ctx: Context,
  id: string,
  types: readonly OfferedModel['modelType'][],
): Promise<OfferedModel> {
  const found = (await offeredModels(ctx, types)).find(({ modelId }) => modelId === id)
  if (found) return found
  throw new Problem('invalid', { issues: [{ path: ['model'], message: 'is not a model that you may use' }] })
}
