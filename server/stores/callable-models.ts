import { LRUCache } from 'lru-cache'
import { findCallableModel } from '../../entities/catalogue/ai-model.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { CallableModels, FindModel } from '../../routers/ports/ai/callable-models.ts'
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

  return { find: loadModel, findCached: async (...values) => cache.get(buildKey(values)) ?? loadModel(...values) }
}

const buildKey = (values: Parameters<FindModel>) => JSON.stringify(values)
