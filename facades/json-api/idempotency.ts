import { createHash } from 'node:crypto'
import type { Context } from '../../routers/context.ts'
import { Problem } from '../../routers/problems.ts'

/** An answer as it goes out. */
export interface Sent {
  status: number
  headers: Record<string, string>
  payload: string
}

interface Kept {
  /** Tells another body under the same key. */
  print: string
  /** Sealed; absent while the first request is under way. */
  sent?: string
}

const RUNNING = 5 * 60_000
const KEPT = 24 * 60 * 60_000
const PURPOSE = 'idempotency'

interface Attempt {
  key: string
  /** What makes it the same request: method, address and body. */
  request: string
  target: string
}

/** Carries out a request once per caller and key; a replay gets the first answer, on whichever replica it arrives. */
export async function once(ctx: Context, { key, request, target }: Attempt, run: () => Promise<Sent>): Promise<Sent> {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new Problem('idempotency_key')
  const { kv, vault } = ctx
  const place = `idempotency:${digest(`${callerOf(ctx)} ${target} ${key}`)}`
  const print = digest(request)
  if (!(await kv.setIfAbsent(place, JSON.stringify({ print } satisfies Kept), RUNNING))) {
    const kept = JSON.parse((await kv.get(place)) ?? '{}') as Partial<Kept>
    if (kept.print !== print || !kept.sent)
      throw new Problem('idempotency_conflict', { detail: conflict(kept.print === print) })
    return JSON.parse(vault.open(kept.sent, PURPOSE)) as Sent
  }
  try {
    const sent = await run()
    await kv.set(place, JSON.stringify({ print, sent: vault.seal(JSON.stringify(sent), PURPOSE) } satisfies Kept), KEPT)
    return sent
  } catch (error) {
    // What was refused changed nothing and may be tried again.
    await kv.delete(place)
    throw error
  }
}

const conflict = (same: boolean) =>
  same ? 'The first request with this key is still under way.' : 'This key was used for another request.'

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

function callerOf({ caller: { current } }: Context): string {
  return current.type === 'user'
    ? `user ${current.person.id}`
    : current.type === 'external-app'
      ? `app ${current.appId}`
      : current.type
}
