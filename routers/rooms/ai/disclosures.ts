import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  deleteOldDisclosures,
  endDisclosure,
  endLostDisclosures,
  findDisclosure,
  findLostDisclosure,
  listDisclosures,
} from '../../../entities/rooms/room-disclosure.sql.ts'
import type { ChatContext } from '../../ai/chat-context.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { resourceId } from '../../resource/ids.ts'
import { untilFewer } from '../../verbs/until-fewer.ts'
import { enterRoom, noSuchRoom } from '../room-access.ts'

const PAGE = 50
const FIRST = 2_147_483_647

export const disclosuresInput = z.strictObject({
  id: resourceId,
  page: z
    .strictObject({ before: resourceId.optional().describe('The id of a disclosure: only earlier ones are listed.') })
    .optional(),
})

/** What was disclosed to models in a room, the last first, as its members see it. */
export async function listOwnDisclosures(ctx: ChatContext, { id, page }: z.output<typeof disclosuresInput>) {
  const before = Number(page?.before ?? FIRST)
  const values = [Number(id), ctx.caller.person.id, before, PAGE + 1]
  const [found] = await ctx.services.sql(listDisclosures, values)
  if (!found) throw noSuchRoom(Number(id))
  const { disclosures } = found
  return { meta: { disclosures: disclosures.slice(0, PAGE), hasMore: disclosures.length > PAGE } }
}

export const disclosureChoice = z.strictObject({
  id: resourceId,
  disclosure: resourceId.describe('As the request for the answer was told.'),
})

/**
 * Ends an answer under way, for who asked for it and who administers the room. Whichever replica makes it hears of it by the
 * change. One that has ended stays as it is.
 */
export async function cancelAnswer(ctx: ChatContext, { id, disclosure }: z.output<typeof disclosureChoice>) {
  const [room, key] = [Number(id), Number(disclosure)]
  const cancel = async (em: EntityManager, changes: ChangeRecorder) => {
    const { member } = await enterRoom(ctx, em, room, ['admin', 'editor', 'viewer'])
    const [found] = await runStatement(em, findDisclosure, [key, room])
    if (!found) throw new Problem('not_found')
    if (found.user !== ctx.caller.person.id && member.role !== 'admin') throw new Problem('not_permitted')
    const [ended] = await runStatement(em, endDisclosure, [key, 'cancelled', null, null])
    if (ended) changes.add([`room:${room}`], 'updated', 'room-disclosures', key)
  }
  await changing(ctx, cancel, `room:${room}`)
  return { meta: {} }
}

/** Ends the answers whose process is gone, and tells their rooms. Several replicas may do so at once. */
export async function endLostAnswers(ctx: Context): Promise<{ ended: number }> {
  const [lost] = await ctx.services.sql(findLostDisclosure)
  if (!lost) return { ended: 0 }
  return changing(ctx, async (em, changes) => {
    const ended = await runStatement(em, endLostDisclosures, [])
    for (const { id, room } of ended) changes.add([`room:${room}`], 'updated', 'room-disclosures', id)
    return { ended: ended.length }
  })
}

/** As many as are deleted in one transaction. */
const BATCH = 500

/** Deletes what is older than the settings say. Several replicas may do so at once. */
export async function deleteOldRows(ctx: Context): Promise<{ deleted: number }> {
  const months = ctx.services.settings.rooms.disclosureMonths
  if (months === undefined) return { deleted: 0 }
  return untilFewer(BATCH, () =>
    changing(ctx, async (em, changes) => {
      const gone = await runStatement(em, deleteOldDisclosures, [months, BATCH])
      for (const { id, room } of gone) changes.add([`room:${room}`], 'deleted', 'room-disclosures', id)
      return gone
    }),
  )
}
