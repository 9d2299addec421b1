import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { atMost } from '../../routers/core/load/cache-size.ts'
import type { Authenticate } from './authenticate.ts'
import type { Authenticated, Authenticator } from './credentials.ts'

const MAX_TOKENS = 20_000

/** How long a token that was revoked may still be known, in milliseconds. */
const MAX_AGE_MS = 5000

/** Authenticates by token without asking for each again. For requests alone that grant nothing by themselves. */
export function rememberBearers({ authenticateBearer }: Authenticator): Authenticate {
  const recent = new LRUCache<string, Promise<Authenticated>>({ ...atMost(MAX_TOKENS), ttl: MAX_AGE_MS })
  return ({ headers: { authorization } }) => {
    const key = createHash('sha256')
      .update(authorization ?? '')
      .digest('base64url')
    const known = recent.get(key)
    if (known) return known
    const found = authenticateBearer(authorization)
    recent.set(key, found)
    found.catch(() => recent.delete(key))
    return found
  }
}
