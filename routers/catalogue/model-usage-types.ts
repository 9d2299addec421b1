import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { usageTypes } from '../../entities/sql/columns.ts'
import { attribute } from '../resource/declare.ts'
import type { Saving } from '../resource/saving.ts'
import { someOf } from './schemas.ts'

/** Which usage types may use a model: each has a row of its own, in a table beside. */
export const modelUsageTypes = attribute(someOf(usageTypes).describe('The usage types that may use it.'), {
  write: true,
  default: ['main'],
  only: 'admin',
  sql: (m, sql) => sql.list('ai_model_usage_rules', 'usage_type', (rule) => `${rule}.model_id = ${m}.id`, 'desc'),
  save: allow,
})

async function allow({ em, id }: Saving, allowed: unknown): Promise<void> {
  const kept = usageTypes.filter((usageType) => (allowed as string[]).includes(usageType))
  const rules = kept.map((usageType) => ({ model: id, usageType }))
  await em.nativeDelete(AiModelUsageRule, { model: id })
  await em.insertMany(AiModelUsageRule, rules)
}
