import { LRUCache } from 'lru-cache'
import { findCallableAssistant } from '../../entities/assistants/assistant.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type {
  CallableAssistant,
  CallableAssistants,
  FindAssistant,
} from '../../routers/ports/ai/callable-assistants.ts'

/** Largest size of the cache, in characters of the sealed texts: instructions can be long. */
const MAX_SIZE = 16_000_000
/** Characters that an assistant has beside its texts, at most or nearly so. */
const OTHER_SIZE = 1000

/** Milliseconds for which an assistant is cached. The limit is for manual changes in SQL, which do not change the catalogue version. */
const MAX_AGE_MS = 5000

/** Creates the look-up of assistants for calls, with a cache. The texts stay sealed in it. */
export function createCallableAssistants(sql: Sql): CallableAssistants {
  const cache = new LRUCache<string, CallableAssistant>({
    maxSize: MAX_SIZE,
    ttl: MAX_AGE_MS,
    sizeCalculation: ({ texts }) => texts.length + OTHER_SIZE,
  })

  const load: FindAssistant = async (handle, version) => {
    const [assistant] = await sql(findCallableAssistant, [handle, version])
    if (assistant) cache.set(buildKey(handle, version), assistant)
    return assistant && { ...assistant, catalogue: null }
  }

  return {
    find: load,
    findCached: async (handle, version) => cache.get(buildKey(handle, version)) ?? load(handle, version),
  }
}

const buildKey = (handle: string, version: number | null) => `${handle}@${version ?? ''}`
