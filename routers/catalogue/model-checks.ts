import { type CheckableModel, listCheckableModels, setModelStatus } from '../../entities/catalogue/ai-model.sql.ts'
import { closeEndedOutages, listOutages } from '../../entities/catalogue/provider-outage.sql.ts'
import { locks, waitForTurn } from '../../entities/sql/locks.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'

interface ModelCheck {
  modelId: string
  provider: string
  status: 'online' | 'offline' | 'unknown'
  /** How much it is asked for, where its provider says so. */
  demand: 'low' | 'medium' | 'high'
}

/**
 * Asks every provider, or some, which models it offers now, keeps the answer as the models' status, and tells everybody what
 * changed. A list says which models there are, and only calls say whether they answer: models of a provider whose calls fail are
 * offline, and those that it lists are of unknown status until one is answered.
 */
export async function checkModels(ctx: Context, only?: readonly string[]): Promise<ModelCheck[]> {
  const models = await ctx.services.sql(listCheckableModels)
  const byProvider = Map.groupBy(models, ({ providerId }) => providerId)
  const meant = only ?? [...byProvider.keys()]
  const checks = await Promise.all(meant.map((provider) => check(ctx, byProvider.get(provider) ?? [])))
  const listed = checks.flat()
  return changing(ctx, async (em, changes) => {
    // An outage comes before this, or after.
    await runStatement(em, waitForTurn, [locks.modelStatus])
    await runStatement(em, closeEndedOutages, [meant])
    const outages = new Map((await runStatement(em, listOutages, [])).map(({ provider, isOver }) => [provider, isOver]))
    const seen = listed.map((one) => ({ ...one, status: afterCalls(one.status, outages.get(one.provider)) }))
    const values = [seen.map(({ id }) => id), seen.map(({ status }) => status), seen.map(({ demand }) => demand)]
    const changed = await runStatement(em, setModelStatus, values)
    for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
    return seen.map(({ id: _, ...told }) => told)
  })
}

/** What a list says of a model, after an outage that is over, or not. */
function afterCalls(status: ModelCheck['status'], isOver: boolean | undefined): ModelCheck['status'] {
  if (isOver === false) return 'offline'
  return isOver && status === 'online' ? 'unknown' : status
}

/** A provider that does not answer says nothing about its models. */
async function check({ services: { models, log } }: Context, some: readonly CheckableModel[]) {
  const [first] = some
  const listed = first && (await models.listed(first, first.modelStatusUrl).catch((error: unknown) => ({ error })))
  const isLost = listed !== undefined && 'error' in listed
  if (isLost)
    log.warn({ provider: first?.providerId, error: listed.error }, 'the AI provider did not answer the status check')
  const known = isLost || !listed ? undefined : new Map(listed.map((model) => [model.name, model]))
  const seenOf = (name: string): Pick<ModelCheck, 'status' | 'demand'> => {
    if (!known) return { status: isLost ? 'unknown' : 'online', demand: 'low' }
    const { status = 'offline', demand = 'low' } = known.get(name) ?? {}
    return { status, demand }
  }
  return some.map(({ id, modelId, upstreamId, providerId: provider }) => ({
    ...{ id, modelId, provider, ...seenOf(upstreamId ?? modelId) },
  }))
}
