import { type ChangeSet, type InferEntity, type Loaded, ref, type UnitOfWork } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { AiModelDescription } from '../../entities/catalogue/ai-model-description.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { AiProvider } from '../../entities/catalogue/ai-provider.ts'
import { AiTool } from '../../entities/catalogue/ai-tool.ts'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import { SystemModel } from '../../entities/catalogue/system-model.ts'
import { type UsageType, usageTypes } from '../../entities/sql/columns.ts'
import { acquireLock, locks } from '../../entities/sql/locks.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import type { Services } from '../core/services.ts'
import type { ModelConfig, ModelEntry } from '../ports/ai/model-config.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import { switchOffDemo } from './ai-providers.ts'
import { toPricing } from './pricing.ts'
import { resealSecrets } from './secrets.ts'
import { dropEqual, keepIfEqual, mergeUntouched, toJson } from './sync-merge.ts'
import { removeServers, writeProvider } from './sync-provider.ts'
import { addDefaultPrompts } from './system-prompts.ts'
import { syncServers } from './tools/sync-tool-servers.ts'

export interface SyncReport {
  providers: number
  models: number
  tools: number
  deactivated: string[]
}

/**
 * Brings the tables into line with the configuration. It asks no provider, so an outage loses nothing. Values that an
 * administrator changed stay; entries that left the file or are not served here are switched off. All changes are
 * published.
 */
export async function syncModels(ctx: Context): Promise<SyncReport> {
  const config = await ctx.services.ai.modelConfig()
  return withChangeLog(ctx, async (em, changes) => {
    // Replicas that start at the same time take turns.
    await runStatement(em, acquireLock, [locks.syncModels])
    const recordModel = recordWrites({ em, changes }, ctx.services)
    const tools = await syncTools(em, [...ctx.services.process.extensions.tools.values()])
    await syncServers(em, ctx.services, config.mcpServers)
    const deactivated: string[] = []
    const knownProviders = await em.find(AiProvider, {}, { populate: ['servers'] })
    const providers = new Map(knownProviders.map((row) => [row.providerId, row]))
    const wasActive = new Map(knownProviders.map(({ id, active }) => [id, active]))
    const models = new Map(
      (await em.find(AiModel, {}, { populate: ['tools', 'descriptions'] })).map((row) => [row.modelId, row]),
    )
    await resealSecrets(em, ctx.services)
    for (const provider of config.providers) {
      const row = writeProvider(em, ctx.services, provider, providers.get(provider.id))
      for (const entry of provider.models) writeModel(em, entry, { provider: row, row: models.get(entry.id), tools })
      providers.delete(provider.id)
    }
    const modelIds = new Set(config.providers.flatMap((provider) => provider.models.map(({ id }) => id)))
    for (const row of [...providers.values()].filter(isFromFile)) {
      removeServers(em, row)
      deactivated.push(...switchOff(row, row.providerId))
    }
    for (const row of [...models.values()].filter((row) => isFromFile(row) && !modelIds.has(row.modelId))) {
      deactivated.push(...switchOff(row, row.modelId))
    }
    deactivated.push(...switchOffDemo(ctx.services.settings, knownProviders))
    await em.flush()
    findAffectedModels(models.values(), wasActive).forEach(recordModel)
    await syncUsageRules(em, config)
    await syncSystemModels(em, config)
    await addDefaultPrompts(em)
    return { providers: config.providers.length, models: modelIds.size, tools: tools.size, deactivated }
  })
}

type Synced = Record<string, unknown>

const isFromFile = ({ synced }: { synced?: unknown }) => synced !== null && synced !== undefined

/**
 * Switches a row off and records that the synchronisation did so, so that it is switched on again when the entry
 * returns.
 */
function switchOff(row: { active: boolean; synced?: Synced | null | undefined }, name: string): string[] {
  if (!row.active || row.synced?.['active'] !== true) return []
  row.active = false
  row.synced = { ...row.synced, active: false }
  return [name]
}

/** Returns the active models whose provider was switched on or off, because that changes who sees them. */
const findAffectedModels = (models: Iterable<AiModel>, wasActive: ReadonlyMap<number, boolean>) =>
  [...models].filter(({ active, provider }) => active && provider.unwrap().active !== wasActive.get(provider.id))

interface SyncInput {
  provider: AiProvider
  row: AiModel | undefined
  tools: ReadonlyMap<string, AiTool>
}

function writeModel(em: EntityManager, entry: ModelEntry, { provider, row, tools }: SyncInput): void {
  const { id: modelId, external: _external, tools: toolNames, descriptions, label = modelId, ...rest } = entry
  const {
    upstreamId = null,
    limits = null,
    pricing,
    parameters = null,
    settings = null,
    documentationUrl = null,
    deprecationDate = null,
    successor = null,
    position = null,
    ...plain
  } = rest
  const prices = pricing ? toPricing(pricing) : null
  const ends = { deprecationDate, successor }
  const valuesOrNull = {
    label,
    upstreamId,
    limits,
    pricing: prices,
    parameters,
    settings,
    documentationUrl,
    position,
    ...ends,
  }
  const fileValues = { ...plain, ...valuesOrNull }
  const model = row
    ? em.assign(row, dropEqual(mergeUntouched(fileValues, { ...row }, row.synced), { ...row }))
    : em.create(AiModel, { ...fileValues, modelId, provider })
  model.provider = ref(provider)
  const before = model.synced ?? {}
  const toolNamesFound = toolNames.filter((name) => tools.has(name))
  assignTools(model, tools, { names: toolNamesFound, previousNames: (before['tools'] ?? []) as string[] })
  writeDescriptions(em, model, { descriptions, before: (before['descriptions'] ?? {}) as Record<string, string> })
  model.synced = keepIfEqual(before, { ...before, ...toJson({ ...fileValues, descriptions, tools: toolNamesFound }) })
}

/** Assigns tools; those that an administrator assigned or removed stay so. */
function assignTools(
  model: AiModel,
  tools: ReadonlyMap<string, AiTool>,
  { names, previousNames }: { names: string[]; previousNames: string[] },
): void {
  for (const [name, tool] of tools) {
    if (names.includes(name) && !previousNames.includes(name)) model.tools.add(tool)
    if (!names.includes(name) && previousNames.includes(name)) model.tools.remove(tool)
  }
}

/** Writes descriptions; those that somebody rewrote stay. */
function writeDescriptions(
  em: EntityManager,
  model: AiModel,
  { descriptions, before: previous }: Record<'descriptions' | 'before', Record<string, string>>,
): void {
  for (const [locale, description] of Object.entries(descriptions)) {
    const row = model.descriptions.getItems().find((known) => known.locale === locale)
    if (row && row.description === previous[locale]) row.description = description
    if (!row && previous[locale] === undefined) em.create(AiModelDescription, { model, locale, description })
  }
}

/**
 * Writes a row for each function of an extension, so that it can be switched off and assigned. Rows of removed
 * functions are deleted.
 */
async function syncTools(em: EntityManager, declared: readonly FunctionTool[]): Promise<Map<string, AiTool>> {
  const rows = new Map((await em.find(AiTool, { toolType: 'function' })).map((row) => [row.name, row]))
  for (const { name, description, capability = null } of declared) {
    const row = rows.get(name)
    if (row) em.assign(row, { description, capability })
    else rows.set(name, em.create(AiTool, { name, description, capability, toolType: 'function' }))
  }
  const names = new Set(declared.map(({ name }) => name))
  const removedTools = [...rows.values()].filter(({ name }) => !names.has(name))
  // The tools are removed from their models first, so that the models' changes are recorded.
  for (const { tools } of await em.find(AiModel, { tools: { $in: removedTools } }, { populate: ['tools'] }))
    tools.remove(removedTools)
  for (const row of removedTools) {
    em.remove(row)
    rows.delete(row.name)
  }
  const serverTools = await em.find(AiTool, { toolType: 'mcp', kind: 'tool' })
  return new Map([...rows, ...serverTools.map((row) => [row.name, row] as const)])
}

interface Write {
  table: string
  verb: 'created' | 'updated' | 'deleted'
  row: { id: number }
}

/** Records that a model looks different although its row is not written. */
type RecordModel = (model: AiModel) => void

/**
 * Records each row that this transaction writes, if everybody follows its type, and each model that is passed to the
 * returned function. A synchronisation writes rows in several steps, and each row is published once.
 */
function recordWrites(
  { em, changes }: ChangeTransaction,
  { records: { resources } }: Pick<Services, 'records'>,
): RecordModel {
  const streamedTypes = resources.all.filter(({ streams }) => streams === 'all')
  const types = new Map(streamedTypes.map((resource) => [resources.tableOf(resource.type).table, resource]))
  const recordedRows = new Set<string>()
  const recordWrite = ({ table, verb, row }: Write) => {
    const resource = types.get(table)
    const key = `${table} ${row.id}`
    if (!resource || (verb === 'updated' && recordedRows.has(key))) return
    recordedRows.add(key)
    changes.addRow(resource, verb, row)
  }
  em.getEventManager().registerSubscriber({ afterFlush: ({ uow }) => listWrites(uow).forEach(recordWrite) })
  return (model) => recordWrite(toUpdate(AiModel.tableName, model))
}

/**
 * Lists the written rows. A model's tools and usage rules are in tables of their own, so their changes count as the
 * model's.
 */
const listWrites = (uow: UnitOfWork): Write[] => [
  ...uow.getChangeSets().flatMap(toWrites),
  ...uow.getCollectionUpdates().map(({ owner }) => toUpdate(AiModel.tableName, owner)),
]

const toUpdate = (table: string, row: object): Write => ({ table, verb: 'updated', row: row as Write['row'] })

/**
 * Columns without effect on readers, and the key, which batch updates include. A row with no other change counts as
 * unchanged.
 */
const ignoredColumns = ['id', 'synced', 'updatedAt']

function toWrites({ meta: { tableName: table }, type, entity, payload }: ChangeSet<object>): Write[] {
  if (entity instanceof AiModelUsageRule.class) return [toUpdate(AiModel.tableName, entity.model)]
  if (entity instanceof ProviderServer.class) return [toUpdate(AiProvider.tableName, entity.provider)]
  if (type === 'create' || type === 'delete') return [{ table, verb: `${type}d`, row: entity as Write['row'] }]
  return Object.keys(payload).every((name) => ignoredColumns.includes(name)) ? [] : [toUpdate(table, entity)]
}

/** Writes the usage rules: the front end may use every model, programs only those that allow it. */
async function syncUsageRules(em: EntityManager, config: ModelConfig): Promise<void> {
  const entries = config.providers.flatMap(({ models }) => models)
  const rows = await em.find(AiModel, { modelId: entries.map(({ id }) => id) })
  const rowsById = new Map(rows.map((row) => [row.modelId, row]))
  const rules = await em.find(AiModelUsageRule, { model: rows })
  const findRule = (row: AiModel, usageType: UsageType) =>
    rules.find((rule) => rule.model.id === row.id && rule.usageType === usageType)
  for (const { id, external } of entries) {
    const row = rowsById.get(id)
    if (!row) continue
    for (const [usageType, allowed] of [
      ['main', true],
      ['external', external],
    ] as const) {
      const rule = findRule(row, usageType)
      const before = row.synced?.[usageType] ?? Boolean(rule)
      if (before === Boolean(rule)) setRule(em, { model: row, usageType, allowed }, rule)
    }
    row.synced = keepIfEqual(row.synced, { ...row.synced, main: true, external })
  }
  await em.flush()
}

interface Permission {
  model: AiModel
  usageType: UsageType
  allowed: boolean
}

function setRule(em: EntityManager, { model, usageType, allowed }: Permission, rule?: AiModelUsageRule): void {
  if (allowed && !rule) em.create(AiModelUsageRule, { model, usageType })
  if (!allowed && rule) em.remove(rule)
}

async function syncSystemModels(em: EntityManager, config: ModelConfig): Promise<void> {
  const families: Record<string, Record<string, string>> = {
    main: config.systemModels,
    external: config.systemModelsExternal,
  }
  const rows = await em.find(SystemModel, {}, { populate: ['model'] })
  for (const row of rows.filter(isUnchangedSinceSync)) {
    if (families[row.usageType]?.[row.modelType] === undefined) em.remove(row)
  }
  for (const usageType of usageTypes) {
    for (const [modelType, modelId] of Object.entries(families[usageType] ?? {})) {
      const row = rows.find((known) => known.modelType === modelType && known.usageType === usageType)
      await assignSystemModel(em, { modelType, usageType, modelId }, row)
    }
  }
  await em.flush()
}

type Assignment = Loaded<InferEntity<typeof SystemModel>, 'model'>

/** False if an administrator assigned another model, which then stays. */
const isUnchangedSinceSync = ({ synced, model }: Assignment) => synced?.['modelId'] === model.$.modelId

async function assignSystemModel(
  em: EntityManager,
  { modelId, ...task }: { modelType: string; usageType: UsageType; modelId: string },
  row: Assignment | undefined,
): Promise<void> {
  const model = await em.findOneOrFail(AiModel, { modelId })
  if (!row) em.create(SystemModel, { ...task, model, synced: { modelId } })
  else if (isUnchangedSinceSync(row)) em.assign(row, { model, synced: { modelId } })
}
