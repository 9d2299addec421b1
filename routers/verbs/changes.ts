import { z } from 'zod'
import { findChanges, findPosition, type LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { Stream } from '../core/change-recorder.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** As many as come at once. */
const MAX_CHANGES = 500

export const position = z
  .string()
  .regex(/^[0-9a-f]{12}:\d{1,15}$/, { error: 'is no position: {epoch}:{seq}' })
  .describe(
    'The position, `{epoch}:{seq}`, after which to begin. Without it the answer is the position alone: ask for it first, then read the data.',
  )

export const changesInput = z.strictObject({ page: z.strictObject({ after: position.optional() }).optional() })

export interface Changes {
  meta: {
    /** Empty where nothing has changed. */
    changes: Pick<LoggedChange, 'seq' | 'kind' | 'subject' | 'at'>[]
    /** Where to go on from. */
    position: string
    /** Whether there are more already. */
    hasMore: boolean
  }
}

/** The changes of a stream behind a position, in their order; throws where some of them may be gone. */
export async function changesSince(ctx: Context, stream: Stream, after: string | undefined): Promise<Changes> {
  if (after === undefined) return { meta: { changes: [], position: await readPosition(ctx, stream), hasMore: false } }
  const [epoch = '', seq = ''] = after.split(':')
  const [found] = await ctx.services.sql(findChanges, [stream, seq, MAX_CHANGES + 1])
  if (!found) throw new Problem('not_found')
  const changes = found.changes.slice(0, MAX_CHANGES)
  const next = Number(seq) + 1
  const isKnown = epoch === found.epoch && (changes[0] ? changes[0].seq === next : found.seq + 1 === next)
  if (!isKnown) {
    const position = `${found.epoch}:${found.seq}`
    throw new Problem('position_too_old', {
      detail: 'Read the data anew, then go on from meta.position.',
      meta: { position },
    })
  }
  const last = changes.at(-1)?.seq ?? found.seq
  return { meta: { changes, position: `${epoch}:${last}`, hasMore: found.changes.length > MAX_CHANGES } }
}

async function readPosition({ services }: Context, stream: Stream): Promise<string> {
  const [found] = await services.sql(findPosition, [stream])
  if (!found) throw new Problem('not_found')
  return `${found.epoch}:${found.seq}`
}
