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
import { adminSession, freshAdmin, host, router } from '../core/trpc.ts'
import type { ListedModel } from '../ports/ai/models.ts'
import { timeLimitMs } from '../ports/duration.ts'
import { updateRow } from '../verbs/write.ts'
import { allModelFlags } from './ai-model-flags.ts'
import { aiModels } from './ai-models.ts'
import { updateProvider } from './ai-providers.ts'
import { toPricing } from './pricing.ts'
import { usingGroups } from './schemas.ts'
import { syncModels } from './sync.ts'
import { allToolCapabilities } from './tools/ai-tool-capabilities.ts'
import { syncToolServers } from './tools/tool-discovery.ts'

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
async function checkModels(ctx: Context, only?: readonly string[]): Promise<ModelCheck[]> {
  const models = await ctx.services.sql(listCheckableModels)
  const byProvider = Map.groupBy(models, ({ providerId }) => providerId)
  const meant = only ?? [...byProvider.keys()]
  const checks = await Promise.all(meant.map((provider) => check(ctx, byProvider.get(provider) ?? [])))
  const listed = checks.flat()
  return withChangeLog(ctx, async (em, changes) => {
    // An outage comes before this, or after.
    await runStatement(em, acquireLock, [locks.modelStatus])
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
  const listed = first && (await models.listModels(first, first.modelStatusUrl).catch((error: unknown) => ({ error })))
  const isLost = listed !== undefined && 'error' in listed
  if (isLost)
    log.warn({ provider: first?.providerId, error: listed.error }, 'the AI provider did not answer the status check')
  const known = isLost || !listed ? undefined : new Map(listed.map((model) => [model.name, model]))
  const toCheck = (name: string): Pick<ModelCheck, 'status' | 'demand'> => {
    if (!known) return { status: isLost ? 'unknown' : 'online', demand: 'low' }
    const { status = 'offline', demand = 'low' } = known.get(name) ?? {}
    return { status, demand }
  }
  return some.map(({ id, modelId, upstreamId, providerId: provider }) => ({
    ...{ id, modelId, provider, ...toCheck(upstreamId ?? modelId) },
  }))
}

/** A name in a file that leads to nothing here. */
export interface UnresolvedName {
  /** What names it, such as `the model llama`. */
  by: string
  kind: string
  name: string
}

/** What models of AI_CONFIG name and nothing here has; a tool may come once its server is asked. */
async function findUnresolvedNames(ctx: Context): Promise<UnresolvedName[]> {
  const { providers } = await ctx.services.modelConfig()
  const known = {
    tool: new Set((await ctx.services.sql(listToolNames)).map(({ name }) => name)),
    flag: new Set(allModelFlags(ctx).map(({ id }) => id)),
    capability: new Set(allToolCapabilities(ctx).map(({ id }) => id)),
  }
  const models = providers.flatMap((provider) => provider.models)
  return models.flatMap(({ id, tools, flags, nativeCapabilities }) =>
    Object.entries({ tool: tools, flag: flags, capability: nativeCapabilities }).flatMap(([kind, names]) =>
      names
        .filter((name) => !known[kind as keyof typeof known].has(name))
        .map((name) => ({ by: `the model ${id}`, kind, name })),
    ),
  )
}

const modelImport = z.strictObject({
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
async function importModels(
  ctx: Context,
  { provider, dryRun }: z.output<typeof modelImport>,
): Promise<ImportedModel[]> {
  const { models, sql } = ctx.services
  const [row] = await sql(findCallableProvider, [provider])
  if (!row) throw new Problem('not_found')
  const listed = await models.listModels(row).catch((error: unknown) => {
    throw new Problem('provider_failed', { cause: error })
  })
  const chats = (listed ?? []).filter(({ name, isChat }) => isChat && name.length <= MAX_NAME)
  const plan = async (known: readonly KnownModel[]) => planSteps(provider, chats, known)
  if (dryRun) return (await plan(await sql(listKnownModels))).map(told)
  return withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, acquireLock, [locks.syncModels])
    const steps = await plan(await runStatement(em, listKnownModels, []))
    for (const step of steps) {
      const id = step.id ?? (await add(em, row.id, step))
      if (step.id) await em.nativeUpdate(AiModel, { id }, toValues(step))
      changes.add(['all'], step.id ? 'updated' : 'created', 'ai-models', id)
    }
    ctx.auditedCall?.recordChange({ imported: steps.map(told) })
    return steps.map(told)
  })
}

/** The longest name of a model. */
const MAX_NAME = 200

const told = ({ modelId, name, does, members }: Step): ImportedModel => ({ modelId, name, does, members })

function planSteps(provider: string, chats: readonly ListedModel[], known: readonly KnownModel[]): Step[] {
  const own = new Map(known.filter(({ providerId }) => providerId === provider).map((model) => [model.name, model]))
  const taken = new Set(known.map(({ modelId }) => modelId))
  const steps: Step[] = []
  for (const listed of new Map(chats.map((one) => [one.name, one])).values()) {
    const { name } = listed
    const model = own.get(name)
    const modelId =
      model?.modelId ?? [name, `${provider}/${name}`].find((id) => !taken.has(id) && id.length <= MAX_NAME)
    const members = findNewMembers(listed, model)
    if (!modelId || (model && members.length === 0)) continue
    taken.add(modelId)
    steps.push({ modelId, name, does: model ? 'complete' : 'add', members: members.join(', '), listed, id: model?.id })
  }
  return steps
}

/** What the list says and the model has not. */
function findNewMembers(
  { maxInputTokens, maxOutputTokens, price }: ListedModel,
  model: KnownModel | undefined,
): string[] {
  return [
    ...(!model?.hasLimits && (maxInputTokens ?? maxOutputTokens) ? ['limits'] : []),
    ...(!model?.hasPrice && price ? ['pricing'] : []),
  ]
}

const toValues = ({ members, listed: { maxInputTokens, maxOutputTokens, price } }: Step) => ({
  ...(members.includes('limits') && { limits: { maxInputTokens, maxOutputTokens } }),
  ...(members.includes('pricing') && price && { pricing: toPricing(price) }),
})

/** A model that nobody has looked at is for nobody yet. */
async function add(em: EntityManager, provider: number, step: Step): Promise<number> {
  const { modelId, name, listed } = step
  const model = em.create(AiModel, {
    ...{ provider, modelId, upstreamId: name === modelId ? null : name, label: listed.label ?? name },
    ...{ active: false, input: listed.takesImages ? ['text', 'image'] : ['text'], ...toValues(step) },
  })
  await em.flush()
  await em.insert(AiModelUsageRule, { model: model.id, usageType: 'main' })
  return model.id
}

const provider = z.string().max(120)

/** How long the first in a row lasts beyond the time after which the provider is tried again: where people go on asking, it goes on unbroken. */
const GRACE_MS = 60_000

/** How long one of many in a row lasts: each that a provider's list ends, and its next call begins anew, is told to everybody. */
const LONGEST_MS = 15 * 60_000

/** What replicas do about a provider that they cannot ask, so that all of them show it, and none shows it for ever. */
const outageProcedures = {
  /**
   * Sets the models of a provider offline. `retryAfter`: after how many milliseconds it is tried again. `isAgain`: the replica
   * has told of it and tried in vain, which says nothing where another one has had an answer meanwhile.
   */
  beginOutage: host
    .input(z.strictObject({ provider, retryAfter: timeLimitMs, isAgain: z.boolean().default(false) }))
    .mutation(async ({ ctx, input: { provider, retryAfter, isAgain } }) => {
      const first = retryAfter + Math.min(retryAfter, GRACE_MS)
      const changed = await withChangeLog(ctx, async (em, changes) => {
        await runStatement(em, acquireLock, [locks.modelStatus])
        const longest = Math.max(first, LONGEST_MS)
        const [outage] = await runStatement(em, beginOutage, [provider, first, longest, isAgain])
        if (!outage) return []
        const changed = await runStatement(em, setModelsOffline, [provider])
        for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
        return changed
      })
      if (changed.length > 0)
        ctx.services.log.warn({ provider }, 'the models of an AI provider are offline: its calls failed')
    }),

  /** A call was answered again: the models are what a check says. */
  endOutage: host.input(z.strictObject({ provider })).mutation(async ({ ctx, input: { provider } }) => {
    const [outage] = await ctx.services.sql(endOutage, [provider])
    if (outage) await checkAfter(ctx, [provider])
  }),

  /** Checks the providers whose outage is over, of whichever replica it was; the others go on until one of them answers. */
  checkOutages: host.mutation(async ({ ctx }) => {
    const outages = await ctx.services.sql(listOutages)
    ctx.services.models.recordOutages(outages.map(({ provider }) => provider))
    const ended = outages.flatMap(({ provider, isDue }) => (isDue ? provider : []))
    if (ended.length > 0) await checkAfter(ctx, ended)
  }),
}

async function checkAfter(ctx: Context, providers: readonly string[]): Promise<void> {
  const checks = await checkModels(ctx, providers)
  ctx.services.log.info({ providers, models: checks.length }, 'the models of AI providers were checked after an outage')
}

const groupsChange = z.union([
  z.strictObject({ model: z.string().max(200), groups: usingGroups }),
  z.strictObject({ provider, groups: usingGroups }),
])

/** By the name that requests use, or by that of the provider. */
async function changeGroups(ctx: Context, { groups, ...of }: z.output<typeof groupsChange>) {
  const em = ctx.em()
  const row =
    'model' in of
      ? await em.findOne(AiModel, { modelId: of.model }, { fields: ['id'] })
      : await em.findOne(AiProvider, { providerId: of.provider }, { fields: ['id'] })
  if (!row) throw new Problem('not_found', { detail: `There is no ${Object.entries(of)[0]?.join(' ')}.` })
  const change = { id: String(row.id), groups }
  await ('model' in of ? updateRow(ctx, aiModels, change) : updateProvider(ctx, change))
  return { ...of, groups }
}

export const modelsRouter = router({
  list: adminSession.query(({ ctx }) => ctx.services.sql(listModels)),

  /** Where the file that AI_CONFIG names says what of which provider, model and task; null where there is no file. */
  origins: adminSession.query(async ({ ctx }) => (await ctx.services.modelOrigins()) ?? null),

  sync: host.mutation(async ({ ctx }) => {
    const report = await syncModels(ctx)
    await ctx.services.sql(analyseTables(ctx.services.resources.coalescedTables))
    return report
  }),

  /** Asks all providers for their models, or one of them. */
  check: freshAdmin
    .meta({ waitsOutside: true })
    .input(z.strictObject({ provider: provider.optional() }).prefault({}))
    .mutation(({ ctx, input }) => checkModels(ctx, input.provider === undefined ? undefined : [input.provider])),

  /** In place of the groups before; everybody may use what has none. */
  setGroups: freshAdmin.input(groupsChange).mutation(({ ctx, input }) => changeGroups(ctx, input)),

  unresolved: adminSession.query(({ ctx }) => findUnresolvedNames(ctx)),

  import: host.input(modelImport).mutation(({ ctx, input }) => importModels(ctx, input)),

  ...outageProcedures,

  /** Checks models and tool servers where no replica has done so within the period. */
  watch: host.mutation(async ({ ctx }) => {
    const { kv, settings } = ctx.services
    const isDue = await kv.setIfAbsent('catalogue:checked', '1', Math.ceil(settings.tools.statusCheckEvery * 0.9))
    if (!isDue) return { checked: false }
    await Promise.all([checkModels(ctx), syncToolServers(ctx)])
    return { checked: true }
  }),
})
