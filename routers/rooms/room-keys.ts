import { z } from 'zod'
import { findStoredKeys } from '../../entities/rooms/room-key.sql.ts'
import { takes } from '../core/body-size.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, router, userWith } from '../core/trpc.ts'
import { resourceId } from '../resource/ids.ts'
import { rowAction } from '../verbs/action.ts'
import { notFound } from '../verbs/lock.ts'
import { seesAll } from '../verbs/viewer.ts'
import { readRecipients } from './recipients.ts'
import { newKey, rekey } from './rekey.ts'
import { rooms } from './rooms.ts'

/** More than a room has in years, where somebody leaves it every week. */
const MAX_KEYS = 500

const storedKeysInput = z.strictObject({
  id: resourceId,
  page: z
    .strictObject({
      after: z
        .string()
        .regex(/^\d{1,7}$/, { error: 'must be a number of a key' })
        .optional()
        .describe('The number of a key: only later ones are listed.'),
    })
    .optional(),
})

/** The keys of a room, which the service stores and cannot open. */
export const roomKeysRouter = router({
  list: rowAction(rooms, 'keys', userWith('read'))
    .meta(
      about(
        'Read the keys of a room that were wrapped for the caller, and the earlier ones encrypted each with the next.',
      ),
    )
    .input(storedKeysInput)
    .query(({ ctx, input }) => storedKeys(ctx, ctx.caller.person.id, input)),

  recipients: rowAction(rooms, 'key-recipients', userWith('write'))
    .meta(about('Read for whom a new key of a room has to be wrapped, with their public keys.'))
    .input(z.strictObject({ id: resourceId }))
    .query(({ ctx, input }) => readRecipients(ctx, Number(input.id))),

  rekey: rowAction(rooms, 'rekey', userWith('write'))
    .meta({ ...about('Give a room its next key, wrapped for each of its members.'), ...takes('room keys') })
    .input(newKey)
    .mutation(({ ctx, input }) => rekey(ctx, input)),
})

async function storedKeys(ctx: Context, person: number, { id, page }: z.output<typeof storedKeysInput>) {
  const after = page?.after === undefined ? -1 : Number(page.after)
  const [found] = await ctx.services.sql(findStoredKeys, [Number(id), person, after, MAX_KEYS + 1])
  if (!found) throw seesAll(ctx) ? new Problem('not_permitted') : notFound(rooms, id)
  const { keyEpoch, keys } = found
  return { meta: { keyEpoch, keys: keys.slice(0, MAX_KEYS), hasMore: keys.length > MAX_KEYS } }
}
