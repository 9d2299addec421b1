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
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import type { Services } from '../core/services.ts'
import type { ModelConfig, ModelEntry } from '../ports/ai/model-config.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import { switchOffDemo } from './ai-providers.ts'
import { toPricing } from './pricing.ts'
import { renewSecrets } from './secrets.ts'
import { keepIfEqual, mergeUntouched, toJson } from './sync-merge.ts'
import { removeServers, writeProvider } from './sync-provider.ts'
import { addPrompts } from './system-prompts.ts'
import { syncServers } from './tools/sync-tool-servers.ts'

export interface SyncReport {
  providers: number
  models: number
  tools: number
  deactivated: string[]
}

/**
 * Brings the tables to what the configuration says. It asks no provider, so one that is down loses nothing; what an
 * administrator changed stays; what is no longer in the file, or not served here, is switched off. Everybody is told what is
 * new, other or gone.
 */
export async function syncModels(ctx: Context): Promise<SyncReport> {
  const config = await ctx.services.modelConfig()
  return withChangeLog(ctx, async (em, changes) => {
    // Replicas that start at once take turns.
    await runStatement(em, acquireLock, [locks.syncModels])
    const noteModel = noteWrites({ em, changes }, ctx.services)
    const tools = await syncTools(em, [...ctx.services.extensions.tools.values()])
    await syncServers(em, ctx.services, config.mcpServers)
    const deactivated: string[] = []
    const known = await em.find(AiProvider, {}, { populate: ['servers'] })
    const providers = new Map(known.map((row) => [row.providerId, row]))
    const wasActive = new Map(known.map(({ id, active }) => [id, active]))
    const models = new Map(
      (await em.find(AiModel, {}, { populate: ['tools', 'descriptions'] })).map((row) => [row.modelId, row]),
    )
    await renewSecrets(em, ctx.services)
    for (const provider of config.providers) {
      const row = writeProvider(em, ctx.services, provider, providers.get(provider.id))
      for (const entry of provider.models) writeModel(em, entry, { provider: row, row: models.get(entry.id), tools })
      providers.delete(provider.id)
    }
    const kept = new Set(config.providers.flatMap((provider) => provider.models.map(({ id }) => id)))
    for (const row of [...providers.values()].filter(fromFile)) {
      removeServers(em, row)
      deactivated.push(...switchOff(row, row.providerId))
    }
    for (const row of [...models.values()].filter((row) => fromFile(row) && !kept.has(row.modelId))) {
      deactivated.push(...switchOff(row, row.modelId))
    }
    deactivated.push(...switchOffDemo(ctx.services.settings, known))
    await em.flush()
    otherwiseShown(models.values(), wasActive).forEach(noteModel)
    await syncUsageRules(em, config)
    await syncSystemModels(em, config)
    await addPrompts(em)
    return { providers: config.providers.length, models: kept.size, tools: tools.size, deactivated }
  })
}

type Synced = Record<string, unknown>

const fromFile = ({ synced }: { synced?: unknown }) => synced !== null && synced !== undefined

/** Records that the synchronisation switched it off, so that it is switched on again when the entry returns to the file. */
function switchOff(row: { active: boolean; synced?: Synced | null | undefined }, name: string): string[] {
  if (!row.active || row.synced?.['active'] !== true) return []
  row.active = false
  row.synced = { ...row.synced, active: false }
  return [name]
}

/** Those whose provider was switched: active models are shown as long as it is active, too. */
const otherwiseShown = (models: Iterable<AiModel>, wasActive: ReadonlyMap<number, boolean>) =>
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
    position = null,
    ...plain
  } = rest
  const prices = pricing ? toPricing(pricing) : null
  const given = { label, upstreamId, limits, pricing: prices, parameters, settings, documentationUrl, position }
  const wanted = { ...plain, ...given }
  const written = row
    ? em.assign(row, mergeUntouched(wanted, { ...row }, row.synced))
    : em.create(AiModel, { ...wanted, modelId, provider })
  written.provider = ref(provider)
  const before = written.synced ?? {}
  const known = toolNames.filter((name) => tools.has(name))
  assignTools(written, tools, { known, before: (before['tools'] ?? []) as string[] })
  describe(em, written, { descriptions, before: (before['descriptions'] ?? {}) as Record<string, string> })
  written.synced = keepIfEqual(before, { ...before, ...toJson({ ...wanted, descriptions, tools: known }) })
}

/** Tools that an administrator assigned or took away by hand stay so. */
function assignTools(
  model: AiModel,
  tools: ReadonlyMap<string, AiTool>,
  { known, before }: { known: string[]; before: string[] },
): void {
  for (const [name, tool] of tools) {
    if (known.includes(name) && !before.includes(name)) model.tools.add(tool)
    if (!known.includes(name) && before.includes(name)) model.tools.remove(tool)
  }
}

/** Texts that somebody rewrote stay. */
function describe(
  em: EntityManager,
  model: AiModel,
  { descriptions, before }: Record<'descriptions' | 'before', Record<string, string>>,
): void {
  for (const [locale, description] of Object.entries(descriptions)) {
    const row = model.descriptions.getItems().find((known) => known.locale === locale)
    if (row && row.description === before[locale]) row.description = description
    if (!row && before[locale] === undefined) em.create(AiModelDescription, { model, locale, description })
  }
}

/** Each function of an extension has a row, so that it can be switched off and assigned; the row of a lost one goes. */
async function syncTools(em: EntityManager, declared: readonly FunctionTool[]): Promise<Map<string, AiTool>> {
  const rows = new Map((await em.find(AiTool, { toolType: 'function' })).map((row) => [row.name, row]))
  for (const { name, description, capability = null } of declared) {
    const row = rows.get(name)
    if (row) em.assign(row, { description, capability })
    else rows.set(name, em.create(AiTool, { name, description, capability, toolType: 'function' }))
  }
  const names = new Set(declared.map(({ name }) => name))
  const lost = [...rows.values()].filter(({ name }) => !names.has(name))
  // Taken from its models before its row goes: they change with it.
  for (const { tools } of await em.find(AiModel, { tools: { $in: lost } }, { populate: ['tools'] })) tools.remove(lost)
  for (const row of lost) {
    em.remove(row)
    rows.delete(row.name)
  }
  const ofServers = await em.find(AiTool, { toolType: 'mcp' })
  return new Map([...rows, ...ofServers.map((row) => [row.name, row] as const)])
}

interface Writing {
  em: EntityManager
  changes: ChangeRecorder
}

interface Write {
  table: string
  verb: 'created' | 'updated' | 'deleted'
  row: { id: number }
}

/** Takes note of a model that shows something else without being written. */
type NoteModel = (model: AiModel) => void

/**
 * Takes note of each row that the transaction writes by its entity from here on, of the types of which everybody is told, and
 * of those that the result is given. A synchronisation changes many rows in several steps, and each is told once.
 */
function noteWrites({ em, changes }: Writing, { resources }: Pick<Services, 'resources'>): NoteModel {
  const told = resources.all.filter(({ streams }) => streams === 'all')
  const types = new Map(told.map((of) => [resources.tableOf(of.type).table, of]))
  const noted = new Set<string>()
  const note = ({ table, verb, row }: Write) => {
    const of = types.get(table)
    const key = `${table} ${row.id}`
    if (!of || (verb === 'updated' && noted.has(key))) return
    noted.add(key)
    changes.addRow(of, verb, row)
  }
  em.getEventManager().registerSubscriber({ afterFlush: ({ uow }) => writesIn(uow).forEach(note) })
  return (model) => note(toUpdate(AiModel.tableName, model))
}

/** The tools of a model, and the rules of who may use it, stand in tables of their own. */
const writesIn = (uow: UnitOfWork): Write[] => [
  ...uow.getChangeSets().flatMap(toWrites),
  ...uow.getCollectionUpdates().map(({ owner }) => toUpdate(AiModel.tableName, owner)),
]

const toUpdate = (table: string, row: object): Write => ({ table, verb: 'updated', row: row as Write['row'] })

/** Columns that nobody reads, and the key, which stands in updates of several rows: a row of which only these change is as it was. */
const unread = ['id', 'synced', 'updatedAt']

function toWrites({ meta: { tableName: table }, type, entity, payload }: ChangeSet<object>): Write[] {
  if (entity instanceof AiModelUsageRule.class) return [toUpdate(AiModel.tableName, entity.model)]
  if (entity instanceof ProviderServer.class) return [toUpdate(AiProvider.tableName, entity.provider)]
  if (type === 'create' || type === 'delete') return [{ table, verb: `${type}d`, row: entity as Write['row'] }]
  return Object.keys(payload).every((name) => unread.includes(name)) ? [] : [toUpdate(table, entity)]
}

/** The front end may use every model; programs only those that say so. */
async function syncUsageRules(em: EntityManager, config: ModelConfig): Promise<void> {
  const entries = config.providers.flatMap(({ models }) => models)
  const rows = await em.find(AiModel, { modelId: entries.map(({ id }) => id) })
  const idOf = new Map(rows.map((row) => [row.modelId, row]))
  const rules = await em.find(AiModelUsageRule, { model: rows })
  const toRule = (row: AiModel, usageType: UsageType) =>
    rules.find((rule) => rule.model.id === row.id && rule.usageType === usageType)
  for (const { id, external } of entries) {
    const row = idOf.get(id)
    if (!row) continue
    for (const [usageType, allowed] of [
      ['main', true],
      ['external', external],
    ] as const) {
      const rule = toRule(row, usageType)
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
  for (const row of rows.filter(isAsSynced)) {
    if (families[row.usageType]?.[row.modelType] === undefined) em.remove(row)
  }
  for (const usageType of usageTypes) {
    for (const [modelType, modelId] of Object.entries(families[usageType] ?? {})) {
      const row = rows.find((known) => known.modelType === modelType && known.usageType === usageType)
      await assign(em, { modelType, usageType, modelId }, row)
    }
  }
  await em.flush()
}

type Assignment = Loaded<InferEntity<typeof SystemModel>, 'model'>

/** An administrator who assigned another model has the last word. */
const isAsSynced = ({ synced, model }: Assignment) => synced?.['modelId'] === model.$.modelId

async function assign(
  em: EntityManager,
  { modelId, ...task }: { modelType: string; usageType: UsageType; modelId: string },
  row: Assignment | undefined,
): Promise<void> {
  const model = await em.findOneOrFail(AiModel, { modelId })
  if (!row) em.create(SystemModel, { ...task, model, synced: { modelId } })
  else if (isAsSynced(row)) em.assign(row, { model, synced: { modelId } })
}
