import { createHash } from 'node:crypto'
import { ref } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AiModel } from '../entities/ai-model.ts'
import { AiModelDescription } from '../entities/ai-model-description.ts'
import { AiModelUsageRule } from '../entities/ai-model-usage-rule.ts'
import { AiProvider } from '../entities/ai-provider.ts'
import { AiTool } from '../entities/ai-tool.ts'
import type { UsageType } from '../entities/columns.ts'
import { SystemModel } from '../entities/system-model.ts'
import type { Context } from './context.ts'
import type { FunctionTool } from './extension.ts'
import type { ModelConfig, ModelEntry, ProviderConfig } from './model-config.ts'
import { pricingOf } from './pricing.ts'
import { plainValues, unchangedByHand } from './three-way.ts'
import type { Vault } from './vault.ts'

export const API_KEY = 'ai_providers.api_key'

export interface SyncReport {
  providers: number
  models: number
  tools: number
  deactivated: string[]
}

/** Replicas that start at once take turns. */
const SYNC_LOCK = 7_240_120

/**
 * Brings the tables to what the configuration says. It asks no provider, so one that is down loses nothing; what an
 * administrator changed stays; what is no longer in the file is switched off.
 */
export async function syncModels(ctx: Context): Promise<SyncReport> {
  const config = await ctx.modelConfig()
  return ctx.em().transactional(async (em) => {
    await em.execute('select pg_advisory_xact_lock(?)', [SYNC_LOCK])
    const tools = await syncTools(em, [...ctx.extensions.tools.values()])
    const deactivated: string[] = []
    const providers = new Map((await em.find(AiProvider, {})).map((row) => [row.providerId, row]))
    const models = new Map(
      (await em.find(AiModel, {}, { populate: ['tools', 'descriptions'] })).map((row) => [row.modelId, row]),
    )
    for (const provider of config.providers) {
      const row = writeProvider(em, ctx.vault, provider, providers.get(provider.id))
      for (const entry of provider.models) writeModel(em, entry, { provider: row, row: models.get(entry.id), tools })
      providers.delete(provider.id)
    }
    const kept = new Set(config.providers.flatMap((provider) => provider.models.map(({ id }) => id)))
    for (const row of [...providers.values()].filter(fromFile)) deactivated.push(...switchOff(row, row.providerId))
    for (const row of [...models.values()].filter((row) => fromFile(row) && !kept.has(row.modelId))) {
      deactivated.push(...switchOff(row, row.modelId))
    }
    await em.flush()
    await syncUsageRules(em, config)
    await syncSystemModels(em, config)
    return { providers: config.providers.length, models: kept.size, tools: tools.size, deactivated }
  })
}

const fromFile = ({ synced }: { synced?: unknown }) => synced !== null && synced !== undefined

function switchOff(row: { active: boolean }, name: string): string[] {
  if (!row.active) return []
  row.active = false
  return [name]
}

function writeProvider(em: EntityManager, vault: Vault, provider: ProviderConfig, row?: AiProvider): AiProvider {
  const { id: providerId, adapter, name = providerId, active, apiUrl = null, apiKey, timeouts } = provider
  const plainKey = row?.apiKey ? vault.open(row.apiKey, API_KEY) : undefined
  const wanted = { adapter, name, active, apiUrl, settings: { timeouts }, apiKey: digest(apiKey) }
  const { apiKey: newKey, ...values } = row
    ? unchangedByHand(wanted, { ...row, apiKey: digest(plainKey) }, row.synced)
    : wanted
  const written = row ? em.assign(row, values) : em.create(AiProvider, { ...wanted, apiKey: null, providerId })
  // Sealing twice gives two texts: an unchanged key is left alone.
  if (newKey !== undefined && apiKey !== plainKey) written.apiKey = apiKey ? vault.seal(apiKey, API_KEY) : null
  written.synced = plainValues(wanted)
  return written
}

const digest = (secret: string | undefined) => (secret ? createHash('sha256').update(secret).digest('hex') : null)

interface Surroundings {
  provider: AiProvider
  row: AiModel | undefined
  tools: ReadonlyMap<string, AiTool>
}

function writeModel(em: EntityManager, entry: ModelEntry, { provider, row, tools }: Surroundings): void {
  const { id: modelId, external: _external, tools: toolNames, descriptions, label = modelId, ...rest } = entry
  const { upstreamId = null, limits = null, pricing, parameters = null, documentationUrl = null, ...plain } = rest
  const prices = pricing ? pricingOf(pricing) : null
  const wanted = { ...plain, label, upstreamId, limits, pricing: prices, parameters, documentationUrl }
  const written = row
    ? em.assign(row, unchangedByHand(wanted, { ...row }, row.synced))
    : em.create(AiModel, { ...wanted, modelId, provider })
  written.provider = ref(provider)
  written.synced = { ...written.synced, ...plainValues(wanted) }
  // Tools that an administrator assigned by hand stay.
  for (const name of toolNames) {
    const tool = tools.get(name)
    if (tool) written.tools.add(tool)
  }
  for (const [locale, description] of Object.entries(descriptions)) {
    if (written.descriptions.getItems().some((known) => known.locale === locale)) continue
    em.create(AiModelDescription, { model: written, locale, description })
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
  for (const [name, row] of rows) {
    if (names.has(name)) continue
    em.remove(row)
    rows.delete(name)
  }
  return rows
}

/** The front end may use every model; programs only those that say so. */
async function syncUsageRules(em: EntityManager, config: ModelConfig): Promise<void> {
  const entries = config.providers.flatMap(({ models }) => models)
  const rows = await em.find(AiModel, { modelId: entries.map(({ id }) => id) })
  const idOf = new Map(rows.map((row) => [row.modelId, row]))
  const rules = await em.find(AiModelUsageRule, { model: rows })
  const ruleOf = (row: AiModel, usageType: UsageType) =>
    rules.find((rule) => rule.model.id === row.id && rule.usageType === usageType)
  for (const { id, external } of entries) {
    const row = idOf.get(id)
    if (!row) continue
    if (!ruleOf(row, 'main')) em.create(AiModelUsageRule, { model: row, usageType: 'main' })
    const rule = ruleOf(row, 'external')
    const { external: before = Boolean(rule) } = row.synced ?? {}
    if (before === Boolean(rule)) setRule(em, row, external, rule)
    row.synced = { ...row.synced, external }
  }
  await em.flush()
}

function setRule(em: EntityManager, row: AiModel, external: boolean, rule: AiModelUsageRule | undefined): void {
  if (external && !rule) em.create(AiModelUsageRule, { model: row, usageType: 'external' })
  if (!external && rule) em.remove(rule)
}

async function syncSystemModels(em: EntityManager, config: ModelConfig): Promise<void> {
  const families = { main: config.systemModels, external: config.systemModelsExternal } as const
  const rows = await em.find(SystemModel, {}, { populate: ['model'] })
  for (const [usageType, assigned] of Object.entries(families) as [UsageType, Record<string, string>][]) {
    for (const [modelType, modelId] of Object.entries(assigned)) {
      const model = await em.findOneOrFail(AiModel, { modelId })
      const row = rows.find((known) => known.modelType === modelType && known.usageType === usageType)
      const mine = !row?.synced || row.synced['modelId'] === row.model.$.modelId
      if (!row) em.create(SystemModel, { modelType, usageType, model, synced: { modelId } })
      else if (mine) em.assign(row, { model, synced: { modelId } })
    }
  }
  await em.flush()
}
