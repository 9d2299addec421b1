import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type Api, createCaller } from '../../routers/index.ts'

export type OfferedModel = Awaited<ReturnType<Api['ai']['models']>>[number]

/** A model that the caller may use, by its id. */
export async function offeredModel(ctx: Context, id: string): Promise<OfferedModel> {
  const found = (await createCaller(ctx).ai.models()).find(({ modelId }) => modelId === id)
  if (found) return found
  throw new Problem('invalid', { issues: [{ path: ['model'], message: 'is not a model that you may use' }] })
}
