import { LRUCache } from 'lru-cache'
import { findCallableModel } from '../../entities/catalogue/ai-model.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type CallableModels, CatalogueOutdated, type FindModel } from '../../routers/ports/ai/callable-models.ts'
import type { CallableModel } from '../../routers/ports/ai/models.ts'

/** Largest size of the cache, in characters of JSON: a model with the schemas of its tools can be large. */
const MAX_SIZE = 16_000_000

/** Milliseconds for which a model is cached. The limit is for manual changes in SQL, which do not change the catalogue version. */
const MAX_AGE_MS = 5000

/** Creates the look-up of models for calls, with a cache. */
export function createCallableModels(sql: Sql): CallableModels {
  const cache = new LRUCache<string, CallableModel>({
    maxSize: MAX_SIZE,
    ttl: MAX_AGE_MS,
    sizeCalculation: (model) => JSON.stringify(model).length,
  })

  const loadModel: FindModel = async (...values) => {
    const [model] = await sql(findCallableModel, values)
    if (model) cache.set(buildKey(values), model)
    return model && { ...model, catalogue: null }
  }

  return {
    find: loadModel,
    async prepare(work) {
      let hasUsedCache = false
      const findCached: FindModel = async (...values) => {
        const model = cache.get(buildKey(values))
        hasUsedCache ||= model !== undefined
        return model ?? loadModel(...values)
      }
      try {
        return await work(findCached)
      } catch (error) {
        if (error instanceof CatalogueOutdated || (hasUsedCache && mayBeOutdated(error))) return work(loadModel)
        throw error
      }
    },
  }
}

const buildKey = (values: Parameters<FindModel>) => JSON.stringify(values)

/** Returns whether an outdated model may have caused the error. Refusals by limits and rates are not retried, to stay cheap. */
const mayBeOutdated = (error: unknown) =>
  error instanceof Problem && (error.problem === 'invalid' || error.problem === 'attachment_pending')
