import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { findCallableProvider, type KnownModel, listKnownModels } from '../../entities/catalogue/ai-model.sql.ts'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { locks, waitForTurn } from '../../entities/sql/locks.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runNamed } from '../core/run-named.ts'
import type { ListedModel } from '../ports/ai/listed-model.ts'
import { pricingOf } from './pricing.ts'

export const modelImport = z.strictObject({
  provider: z.string().min(1).max(120),
  /** Only says what would be done. */
  dryRun: z.boolean().default(false),
})

interface ImportedModel {
  modelId: string
  /** The provider's own name for it. */
  name: string
  does: 'add' | 'complete'
  /** Which of its members are written. */
  members: string
}

interface Step extends ImportedModel {
  listed: ListedModel
  /** Of the model that is completed. */
  id: number | undefined
}

/**
 * Adds the models of a provider's own list, switched off, and gives those that are known the limits and prices that they
 * lack. What they have stays, so that a second import of the same list does nothing.
 */
export async function importModels(
  ctx: Context,
  { provider, dryRun }: z.output<typeof modelImport>,
): Promise<ImportedModel[]> {
  const { models, sql } = ctx.services
  const [row] = await sql(findCallableProvider, [provider])
  if (!row) throw new Problem('not_found')
  const listed = await models.listed(row).catch((error: unknown) => {
    throw new Problem('provider_failed', { cause: error })
  })
  const chats = (listed ?? []).filter(({ name, isChat }) => isChat && name.length <= MAX_NAME)
  const plan = async (known: readonly KnownModel[]) => stepsOf(provider, chats, known)
  if (dryRun) return (await plan(await sql(listKnownModels))).map(told)
  return changing(ctx, async (em, changes) => {
    await em.execute(waitForTurn, [locks.syncModels])
    const steps = await plan(await runNamed(em, listKnownModels, []))
    for (const step of steps) {
      const id = step.id ?? (await add(em, row.id, step))
      if (step.id) await em.nativeUpdate(AiModel, { id }, valuesOf(step))
      changes.add(['all'], step.id ? 'updated' : 'created', 'ai-models', id)
    }
    return steps.map(told)
  })
}

/** The longest name of a model. */
const MAX_NAME = 200

const told = ({ modelId, name, does, members }: Step): ImportedModel => ({ modelId, name, does, members })

function stepsOf(provider: string, chats: readonly ListedModel[], known: readonly KnownModel[]): Step[] {
  const own = new Map(known.filter(({ providerId }) => providerId === provider).map((model) => [model.name, model]))
  const taken = new Set(known.map(({ modelId }) => modelId))
  const steps: Step[] = []
  for (const listed of new Map(chats.map((one) => [one.name, one])).values()) {
    const { name } = listed
    const model = own.get(name)
    const modelId =
      model?.modelId ?? [name, `${provider}/${name}`].find((id) => !taken.has(id) && id.length <= MAX_NAME)
    const members = membersOf(listed, model)
    if (!modelId || (model && members.length === 0)) continue
    taken.add(modelId)
    steps.push({ modelId, name, does: model ? 'complete' : 'add', members: members.join(', '), listed, id: model?.id })
  }
  return steps
}

/** What the list says and the model has not. */
function membersOf({ maxInputTokens, maxOutputTokens, price }: ListedModel, model: KnownModel | undefined): string[] {
  return [
    ...(!model?.hasLimits && (maxInputTokens ?? maxOutputTokens) ? ['limits'] : []),
    ...(!model?.hasPrice && price ? ['pricing'] : []),
  ]
}

const valuesOf = ({ members, listed: { maxInputTokens, maxOutputTokens, price } }: Step) => ({
  ...(members.includes('limits') && { limits: { maxInputTokens, maxOutputTokens } }),
  ...(members.includes('pricing') && price && { pricing: pricingOf(price) }),
})

/** A model that nobody has looked at is for nobody yet. */
async function add(em: EntityManager, provider: number, step: Step): Promise<number> {
  const { modelId, name, listed } = step
  const model = em.create(AiModel, {
    ...{ provider, modelId, upstreamId: name === modelId ? null : name, label: listed.label ?? name },
    ...{ active: false, input: listed.takesImages ? ['text', 'image'] : ['text'], ...valuesOf(step) },
  })
  await em.flush()
  await em.insert(AiModelUsageRule, { model: model.id, usageType: 'main' })
  return model.id
}
