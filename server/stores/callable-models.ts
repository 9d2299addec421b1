import { LRUCache } from 'lru-cache'
import { findCallableModel } from '../../entities/catalogue/ai-model.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type CallableModels, CatalogueOutdated, type FindModel } from '../../routers/ports/ai/callable-models.ts'
import type { CallableModel } from '../../routers/ports/ai/models.ts'

/** Characters of JSON in all: with the schemas of its tools a model can be large. */
const MAX_SIZE = 16_000_000

/** For how long a model is remembered, in milliseconds: a change by hand, in SQL, does not move the version of the catalogue. */
const MAX_AGE_MS = 5000

export function createCallableModels(sql: Sql): CallableModels {
  const seen = new LRUCache<string, CallableModel>({
    ...{ maxSize: MAX_SIZE, ttl: MAX_AGE_MS },
    sizeCalculation: (model) => JSON.stringify(model).length,
  })

  const look: FindModel = async (...values) => {
    const [model] = await sql(findCallableModel, values)
    if (model) seen.set(buildKey(values), model)
    return model && { ...model, catalogue: null }
  }

  return {
    find: look,
    async prepare(work) {
      let isRemembered = false
      const remember: FindModel = async (...values) => {
        const model = seen.get(buildKey(values))
        isRemembered ||= model !== undefined
        return model ?? look(...values)
      }
      try {
        return await work(remember)
      } catch (error) {
        if (error instanceof CatalogueOutdated || (isRemembered && mayBeOutdated(error))) return work(look)
        throw error
      }
    },
  }
}

const buildKey = (values: Parameters<FindModel>) => JSON.stringify(values)

/** A refusal that comes of the model; those of limits and rates come of others, and must cost little. */
const mayBeOutdated = (error: unknown) =>
  error instanceof Problem && (error.problem === 'invalid' || error.problem === 'attachment_pending')
