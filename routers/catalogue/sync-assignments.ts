import type { InferEntity, Loaded } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { SystemModel } from '../../entities/catalogue/system-model.ts'
import { type UsageType, usageTypes } from '../../entities/sql/columns.ts'
import type { ModelConfig } from '../ports/ai/model-config.ts'
import { keepIfEqual } from './sync-merge.ts'

/** The front end may use every model; programs only those that say so. */
export async function syncUsageRules(em: EntityManager, config: ModelConfig): Promise<void> {
  const entries = config.providers.flatMap(({ models }) => models)
  const rows = await em.find(AiModel, { modelId: entries.map(({ id }) => id) })
  const idOf = new Map(rows.map((row) => [row.modelId, row]))
  const rules = await em.find(AiModelUsageRule, { model: rows })
  const ruleOf = (row: AiModel, usageType: UsageType) =>
    rules.find((rule) => rule.model.id === row.id && rule.usageType === usageType)
  for (const { id, external } of entries) {
    const row = idOf.get(id)
    if (!row) continue
    for (const [usageType, allowed] of [
      ['main', true],
      ['external', external],
    ] as const) {
      const rule = ruleOf(row, usageType)
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

export async function syncSystemModels(em: EntityManager, config: ModelConfig): Promise<void> {
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
