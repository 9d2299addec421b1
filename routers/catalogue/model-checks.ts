import { type CallableModelRow, listCheckableModels, setModelStatus } from '../../entities/catalogue/ai-model.sql.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runNamed } from '../core/run-named.ts'

interface ModelCheck {
  modelId: string
  provider: string
  status: 'online' | 'offline' | 'unknown'
}

/** Asks every provider which models it offers now, keeps the answer as the models' status, and tells everybody what changed. */
export async function checkModels(ctx: Context): Promise<ModelCheck[]> {
  const models = await ctx.services.sql(listCheckableModels)
  const byProvider = Map.groupBy(models, ({ providerId }) => providerId)
  const checks = await Promise.all([...byProvider.values()].map((some) => check(ctx, some)))
  const seen = checks.flat()
  await changing(ctx, async (em, changes) => {
    const values = [seen.map(({ id }) => id), seen.map(({ status }) => status)]
    const changed = await runNamed(em, setModelStatus, values)
    for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
  })
  return seen.map(({ id: _, ...told }) => told)
}

/** A provider that does not answer says nothing about its models. */
async function check({ services: { models, log } }: Context, some: readonly CallableModelRow[]) {
  const [first] = some
  const offered = first && (await models.offered(first).catch((error: unknown) => ({ error })))
  if (offered && 'error' in offered)
    log.warn({ provider: first?.providerId, error: offered.error }, 'the AI provider did not answer the status check')
  const statusOf = (name: string): ModelCheck['status'] => {
    if (offered && 'error' in offered) return 'unknown'
    return !offered || offered.has(name) ? 'online' : 'offline'
  }
  return some.map(({ id, modelId, upstreamId, providerId: provider }) => ({
    ...{ id, modelId, provider, status: statusOf(upstreamId ?? modelId) },
  }))
}
