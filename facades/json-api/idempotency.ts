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
  /** Tells another request under the same key. */
  print: string
  /** Sealed; absent while the first request is under way. */
  sent?: string
}

/** After a crash the key is free again when this is over. */
const RUNNING = 5 * 60_000
const KEPT = 24 * 60 * 60_000
const PURPOSE = 'idempotency'

interface Attempt {
  key: string
  /** What makes it the same request: method, address and body. */
  request: string
}

/** Carries out a request once per caller and key; a replay gets the first answer, on whichever replica it arrives. */
export async function once(ctx: Context, { key, request }: Attempt, run: () => Promise<Sent>): Promise<Sent> {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new Problem('idempotency_key')
  const caller = callerOf(ctx)
  // Guests are too many to be told apart by a key.
  if (!caller) return run()
  const place = `idempotency:${digest(`${caller} ${key}`)}`
  const print = digest(request)
  return (await replay(ctx, place, print)) ?? first(ctx, place, print, run)
}

/** The answer that was kept; nothing where this request is the first, which it then is for everybody. */
async function replay({ kv, vault }: Context, place: string, print: string): Promise<Sent | undefined> {
  // What is gone between the two looks was a failure, and its place is free.
  for (;;) {
    const isFirst = await kv
      .setIfAbsent(place, JSON.stringify({ print } satisfies Kept), RUNNING)
      .catch((cause: unknown) => {
        // Nobody can tell whether it happened before.
        throw new Problem('unavailable', { cause })
      })
    if (isFirst) return undefined
    const text = await kv.get(place)
    if (text === undefined) continue
    const kept = JSON.parse(text) as Kept
    if (kept.print !== print) throw conflict('This key was used for another request.')
    if (!kept.sent) throw conflict('The first request with this key is still under way.')
    return JSON.parse(vault.open(kept.sent, PURPOSE)) as Sent
  }
}

async function first({ kv, vault, log }: Context, place: string, print: string, run: () => Promise<Sent>) {
  const sent = await run().catch(async (error: unknown) => {
    // What was refused changed nothing and may be tried again.
    await kv.delete(place)
    throw error
  })
  const kept: Kept = { print, sent: vault.seal(JSON.stringify(sent), PURPOSE) }
  // It has happened; that it could not be kept is no reason to say otherwise.
  await kv
    .set(place, JSON.stringify(kept), KEPT)
    .catch((error: unknown) => log.warn({ error }, 'an answer was not kept'))
  return sent
}

const conflict = (detail: string) => new Problem('idempotency_conflict', { detail })

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

/** A token may do less than its person, and so gets none of their other answers. */
function callerOf({ caller: { current } }: Context): string | undefined {
  if (current.type === 'user') return `user ${current.person.id} ${current.token?.id ?? ''}`
  if (current.type === 'external-app') return `app ${current.appId}`
  return current.type === 'registering' ? `registering ${current.username}` : undefined
}
