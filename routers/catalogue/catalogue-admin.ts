import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  analyseTables,
  type CheckableModel,
  findCallableProvider,
  type KnownModel,
  listCheckableModels,
  listKnownModels,
  listModels,
  setModelStatus,
} from '../../entities/catalogue/ai-model.sql.ts'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { AiProvider } from '../../entities/catalogue/ai-provider.ts'
import { listToolNames } from '../../entities/catalogue/ai-tool.sql.ts'
import {
  beginOutage,
  closeEndedOutages,
  endOutage,
  listOutages,
  setModelsOffline,
} from '../../entities/catalogue/provider-outage.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, host, router, sensitiveAdmin } from '../core/trpc.ts'
import type { ListedModel } from '../ports/ai/models.ts'
import { timeLimitMs } from '../ports/duration.ts'
import { updateRow } from '../verbs/write.ts'
import { allModelFlags } from './ai-model-flags.ts'
import { aiModels } from './ai-models.ts'
import { updateProvider } from './ai-providers.ts'
import { toPricing } from './pricing.ts'
import { groupList } from './schemas.ts'
import { syncModels } from './sync.ts'
import { allToolCapabilities } from './tools/ai-tool-capabilities.ts'
import { syncToolServers } from './tools/tool-discovery.ts'

interface ModelCheck {
  modelId: string
  provider: string
  status: 'online' | 'offline' | 'unknown'
  /** Demand, if the provider reports it. */
  demand: 'low' | 'medium' | 'high'
}

/**
 * Asks providers for their current models, stores the result as the models' status and publishes the changes. A list
 * shows which models exist, but only calls show whether they answer: models of a provider whose calls fail are offline,
 * and after an outage listed models are unknown until one has answered.
 */
async function checkModels(ctx: Context, only?: readonly string[]): Promise<ModelCheck[]> {
  const models = await ctx.services.sql(listCheckableModels)
  const byProvider = Map.groupBy(models, ({ providerId }) => providerId)
  const providerIds = only ?? [...byProvider.keys()]
  const checks = await Promise.all(providerIds.map((provider) => checkProvider(ctx, byProvider.get(provider) ?? [])))
  const listed = checks.flat()
  return withChangeLog(ctx, async (em, changes) => {
    // The lock orders this check and a beginning outage.
    await runStatement(em, acquireLock, [locks.modelStatus])
    await runStatement(em, closeEndedOutages, [providerIds])
    const outages = new Map((await runStatement(em, listOutages, [])).map(({ provider, isOver }) => [provider, isOver]))
    const checkedModels = listed.map((one) => ({ ...one, status: applyOutage(one.status, outages.get(one.provider)) }))
    const values = [
      checkedModels.map(({ id }) => id),
      checkedModels.map(({ status }) => status),
      checkedModels.map(({ demand }) => demand),
    ]
    const changed = await runStatement(em, setModelStatus, values)
    for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
    return checkedModels.map(({ id: _, ...result }) => result)
  })
}

/** Returns the status of a listed model during or after an outage. */
function applyOutage(status: ModelCheck['status'], isOver: boolean | undefined): ModelCheck['status'] {
  if (isOver === false) return 'offline'
  return isOver && status === 'online' ? 'unknown' : status
}

/** Checks the models of one provider. Their status is unknown if the provider does not respond. */
async function checkProvider({ services }: Context, checkableModels: readonly CheckableModel[]) {
  const [firstModel] = checkableModels
  const listed =
    firstModel &&
    (await services.ai.models.listModels(firstModel, firstModel.modelStatusUrl).catch((error: unknown) => ({ error })))
  const hasFailed = listed !== undefined && 'error' in listed
  if (hasFailed)
    services.log.warn(
      { provider: firstModel?.providerId, error: listed.error },
      'the AI provider did not answer the status check',
    )
  const listedByName = hasFailed || !listed ? undefined : new Map(listed.map((model) => [model.name, model]))
  const toCheck = (name: string): Pick<ModelCheck, 'status' | 'demand'> => {
    if (!listedByName) return { status: hasFailed ? 'unknown' : 'online', demand: 'low' }
    const { status = 'offline', demand = 'low' } = listedByName.get(name) ?? {}
    return { status, demand }
  }
  return checkableModels.map(({ id, modelId, upstreamId, providerId: provider }) => ({
    id,
    modelId,
    provider,
    ...toCheck(upstreamId ?? modelId),
  }))
}

/** A name in the file that does not exist here. */
export interface UnresolvedName {
  /** Origin of the name, such as `the model llama`. */
  by: string
  kind: string
  name: string
}

/**
 * Finds tools, flags and capabilities that models of AI_CONFIG name and that do not exist. A tool may appear once its
 * server is asked.
 */
async function findUnresolvedNames(ctx: Context): Promise<UnresolvedName[]> {
  const { providers } = await ctx.services.ai.modelConfig()
  const knownNames = {
    tool: new Set((await ctx.services.sql(listToolNames)).map(({ name }) => name)),
    flag: new Set(allModelFlags(ctx).map(({ id }) => id)),
    capability: new Set(allToolCapabilities(ctx).map(({ id }) => id)),
  }
  const models = providers.flatMap((provider) => provider.models)
  return models.flatMap(({ id, tools, flags, nativeCapabilities }) =>
    Object.entries({ tool: tools, flag: flags, capability: nativeCapabilities }).flatMap(([kind, names]) =>
      names
        .filter((name) => !knownNames[kind as keyof typeof knownNames].has(name))
        .map((name) => ({ by: `the model ${id}`, kind, name })),
    ),
  )
}

/** The longest name of a model. */
const MAX_NAME = 200

const modelImport = z.strictObject({
  provider: z.string().min(1).max(120),
  /** The provider's own names of the models to import; all of its list when absent. */
  only: z.array(z.string().max(MAX_NAME)).max(1000).optional(),
  /** Only reports what an import would do. */
  dryRun: z.boolean().default(false),
})

interface ImportedModel {
  modelId: string
  /** The provider's own name for it. */
  name: string
  does: 'add' | 'complete'
  /** Names of the members that are written. */
  members: string
}

interface ImportStep extends Omit<ImportedModel, 'members'> {
  /** Names of the members that are written. */
  members: readonly string[]
  listed: ListedModel
  /** Id of an existing model that is completed. */
  id: number | undefined
}

/**
 * Adds the models of a provider's list, inactive, and completes missing limits and prices of known models. Existing
 * values stay, so that repeating an import changes nothing.
 */
async function importModels(
  ctx: Context,
  { provider, dryRun, only }: z.output<typeof modelImport>,
): Promise<ImportedModel[]> {
  const { sql } = ctx.services
  const { models } = ctx.services.ai
  const [row] = await sql(findCallableProvider, [provider])
  if (!row) throw new Problem('not_found')
  const listedModels = await models.listModels(row).catch((error: unknown) => {
    throw new Problem('provider_failed', { cause: error })
  })
  const isChosen = (name: string) => name.length <= MAX_NAME && (only?.includes(name) ?? true)
  const chatModels = (listedModels ?? []).filter(({ name, isChat }) => isChat && isChosen(name))
  if (dryRun) return planSteps(provider, chatModels, await sql(listKnownModels)).map(toImportedModel)
  return withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, acquireLock, [locks.syncModels])
    const steps = planSteps(provider, chatModels, await runStatement(em, listKnownModels, []))
    for (const step of steps) {
      const id = step.id ?? (await addModel(em, row.id, step))
      if (step.id) await em.nativeUpdate(AiModel, { id }, toValues(step))
      changes.add(['all'], step.id ? 'updated' : 'created', 'ai-models', id)
    }
    ctx.auditedCall?.recordChange({ imported: steps.map(toImportedModel) })
    return steps.map(toImportedModel)
  })
}

const toImportedModel = ({ modelId, name, does, members }: ImportStep): ImportedModel => ({
  modelId,
  name,
  does,
  members: members.join(', '),
})

function planSteps(provider: string, chatModels: readonly ListedModel[], known: readonly KnownModel[]): ImportStep[] {
  const modelsByName = new Map(
    known.filter(({ providerId }) => providerId === provider).map((model) => [model.name, model]),
  )
  const usedIds = new Set(known.map(({ modelId }) => modelId))
  const steps: ImportStep[] = []
  for (const listed of new Map(chatModels.map((one) => [one.name, one])).values()) {
    const { name } = listed
    const model = modelsByName.get(name)
    const modelId =
      model?.modelId ?? [name, `${provider}/${name}`].find((id) => !usedIds.has(id) && id.length <= MAX_NAME)
    const members = findNewMembers(listed, model)
    if (!modelId || (model && members.length === 0)) continue
    usedIds.add(modelId)
    steps.push({ modelId, name, does: model ? 'complete' : 'add', members, listed, id: model?.id })
  }
  return steps
}

/** Returns the members that the list has and the model lacks. */
function findNewMembers(
  { maxInputTokens, maxOutputTokens, price }: ListedModel,
  model: KnownModel | undefined,
): string[] {
  return [
    ...(!model?.hasLimits && (maxInputTokens ?? maxOutputTokens) ? ['limits'] : []),
    ...(!model?.hasPrice && price ? ['pricing'] : []),
  ]
}

const toValues = ({ members, listed: { maxInputTokens, maxOutputTokens, price } }: ImportStep) => ({
  ...(members.includes('limits') && { limits: { maxInputTokens, maxOutputTokens } }),
  ...(members.includes('pricing') && price && { pricing: toPricing(price) }),
})

/** Adds an inactive model without groups, so that an administrator reviews it first. */
async function addModel(em: EntityManager, provider: number, step: ImportStep): Promise<number> {
  const { modelId, name, listed } = step
  const model = em.create(AiModel, {
    provider,
    modelId,
    upstreamId: name === modelId ? null : name,
    label: listed.label ?? name,
    active: false,
    input: listed.takesImages ? ['text', 'image'] : ['text'],
    ...toValues(step),
  })
  await em.flush()
  await em.insert(AiModelUsageRule, { model: model.id, usageType: 'main' })
  return model.id
}

const provider = z.string().max(120)

/**
 * Extension of the first outage beyond the retry delay, so that it continues without a gap while people keep asking.
 */
const GRACE_MS = 60_000

/** Duration that repeated outages grow to, because each end and new beginning is published to everybody. */
const MAX_OUTAGE_MS = 15 * 60_000

/**
 * Procedures by which replicas share the outage of a provider, so that all of them show it and none shows it forever.
 */
const outageProcedures = {
  /**
   * Sets a provider's models offline. `retryAfter` is the delay of the next attempt in milliseconds. `isAgain` marks a
   * repeated failure of a replica, which is ignored if another replica has had an answer meanwhile.
   */
  beginOutage: host
    .input(z.strictObject({ provider, retryAfter: timeLimitMs, isAgain: z.boolean().default(false) }))
    .mutation(async ({ ctx, input: { provider, retryAfter, isAgain } }) => {
      const first = retryAfter + Math.min(retryAfter, GRACE_MS)
      const changed = await withChangeLog(ctx, async (em, changes) => {
        await runStatement(em, acquireLock, [locks.modelStatus])
        const longest = Math.max(first, MAX_OUTAGE_MS)
        const [outage] = await runStatement(em, beginOutage, [provider, first, longest, isAgain])
        if (!outage) return []
        const changed = await runStatement(em, setModelsOffline, [provider])
        for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
        return changed
      })
      if (changed.length > 0)
        ctx.services.log.warn({ provider }, 'the models of an AI provider are offline: its calls failed')
    }),

  /** Ends an outage after a successful call, and checks the models. */
  endOutage: host.input(z.strictObject({ provider })).mutation(async ({ ctx, input: { provider } }) => {
    const [outage] = await ctx.services.sql(endOutage, [provider])
    if (outage) await checkAfterOutage(ctx, [provider])
  }),

  /** Checks the providers whose outage is over on any replica. Other outages continue until a call succeeds. */
  checkOutages: host.mutation(async ({ ctx }) => {
    const outages = await ctx.services.sql(listOutages)
    ctx.services.ai.models.recordOutages(outages.map(({ provider }) => provider))
    const endedOutages = outages.flatMap(({ provider, isDue }) => (isDue ? provider : []))
    if (endedOutages.length > 0) await checkAfterOutage(ctx, endedOutages)
  }),
}

async function checkAfterOutage(ctx: Context, providers: readonly string[]): Promise<void> {
  const checks = await checkModels(ctx, providers)
  ctx.services.log.info({ providers, models: checks.length }, 'the models of AI providers were checked after an outage')
}

const groupsChange = z.union([
  z.strictObject({ model: z.string().max(200), groups: groupList }),
  z.strictObject({ provider, groups: groupList }),
])

/** Sets the groups of a model or a provider, by its name. */
async function changeGroups(ctx: Context, { groups, ...target }: z.output<typeof groupsChange>) {
  const em = ctx.em()
  const row =
    'model' in target
      ? await em.findOne(AiModel, { modelId: target.model }, { fields: ['id'] })
      : await em.findOne(AiProvider, { providerId: target.provider }, { fields: ['id'] })
  if (!row) throw new Problem('not_found', { detail: `There is no ${Object.entries(target)[0]?.join(' ')}.` })
  const change = { id: String(row.id), groups }
  await ('model' in target ? updateRow(ctx, aiModels, change) : updateProvider(ctx, change))
  return { ...target, groups }
}

export const modelsRouter = router({
  list: adminSession.query(({ ctx }) => ctx.services.sql(listModels)),

  /** Origin in the AI_CONFIG file of each provider, model and task; null without a file. */
  origins: adminSession.query(async ({ ctx }) => (await ctx.services.ai.modelOrigins()) ?? null),

  sync: host.mutation(async ({ ctx }) => {
    const report = await syncModels(ctx)
    await ctx.services.sql(analyseTables(ctx.services.records.resources.coalescedTables))
    return report
  }),

  check: sensitiveAdmin
    .meta({ ...about('Ask all providers for their models, or one of them.'), waitsOutside: true })
    .input(z.strictObject({ provider: provider.optional() }).prefault({}))
    .mutation(({ ctx, input }) => checkModels(ctx, input.provider === undefined ? undefined : [input.provider])),

  setGroups: sensitiveAdmin
    .meta(about('Replace the groups that may use a model or a provider; an empty list allows everybody.'))
    .input(groupsChange)
    .mutation(({ ctx, input }) => changeGroups(ctx, input)),

  unresolved: adminSession.query(({ ctx }) => findUnresolvedNames(ctx)),

  import: sensitiveAdmin
    .meta({
      ...about("Add models of a provider's own list, disabled, and complete limits and prices."),
      waitsOutside: true,
    })
    .input(modelImport)
    .mutation(({ ctx, input }) => importModels(ctx, input)),

  ...outageProcedures,

  /** Checks models and tool servers, unless another replica has done so within the period. */
  watch: host.mutation(async ({ ctx }) => {
    const { settings } = ctx.services
    const { kv } = ctx.services.stores
    const isDue = await kv.setIfAbsent('catalogue:checked', '1', Math.ceil(settings.tools.statusCheckEvery * 0.9))
    if (!isDue) return { checked: false }
    await Promise.all([checkModels(ctx), syncToolServers(ctx)])
    return { checked: true }
  }),
})
