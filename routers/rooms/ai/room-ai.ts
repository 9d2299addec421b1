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
import { takes } from '../../core/body-size.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { about, host, router, userWith } from '../../core/trpc.ts'
import { resourceId } from '../../resource/ids.ts'
import { rowAction } from '../../verbs/action.ts'
import { untilFewer } from '../../verbs/until-fewer.ts'
import { enterRoom, noSuchRoom } from '../room-access.ts'
import { rooms } from '../rooms.ts'
import { askInRoom } from './ask-in-room.ts'
import { roomQuestion } from './room-question.ts'

const PAGE = 50
const FIRST = 2_147_483_647

const disclosuresInput = z.strictObject({
  id: resourceId,
  page: z
    .strictObject({ before: resourceId.optional().describe('The id of a disclosure: only earlier ones are listed.') })
    .optional(),
})

/** What was disclosed to models in a room, the last first, as its members see it. */
async function listOwnDisclosures(ctx: ChatContext, { id, page }: z.output<typeof disclosuresInput>) {
  const before = Number(page?.before ?? FIRST)
  const values = [Number(id), ctx.caller.person.id, before, PAGE + 1]
  const [found] = await ctx.services.sql(listDisclosures, values)
  if (!found) throw noSuchRoom(Number(id))
  const { disclosures } = found
  return { meta: { disclosures: disclosures.slice(0, PAGE), hasMore: disclosures.length > PAGE } }
}

const disclosureChoice = z.strictObject({
  id: resourceId,
  disclosure: resourceId.describe('As the request for the answer was told.'),
})

/**
 * Ends an answer under way, for who asked for it and who administers the room. Whichever replica makes it hears of it by the
 * change. One that has ended stays as it is.
 */
async function cancelAnswer(ctx: ChatContext, { id, disclosure }: z.output<typeof disclosureChoice>) {
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
async function endLostAnswers(ctx: Context): Promise<{ ended: number }> {
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
async function deleteOldRows(ctx: Context): Promise<{ deleted: number }> {
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

/** Models in rooms: they are given what a member discloses, and their answers are encrypted for the room. */
export const roomAiRouter = router({
  ask: rowAction(rooms, 'ask', userWith('ai'))
    .meta({
      ...about('Have a model answer in a room, from what the caller discloses to it. The answer comes as a message.'),
      ...takes('AI request with files'),
    })
    .input(roomQuestion)
    .mutation(({ ctx, input }) => askInRoom(ctx, input)),

  cancelAnswer: rowAction(rooms, 'cancel-answer', userWith('ai'))
    .meta(about('Cancel an answer that a model is giving in a room.'))
    .input(disclosureChoice)
    .mutation(({ ctx, input }) => cancelAnswer(ctx, input)),

  disclosures: rowAction(rooms, 'disclosures', userWith('read'))
    .meta(about('List what members of a room have disclosed to models: ids, sizes and hashes, and never a text.'))
    .input(disclosuresInput)
    .query(({ ctx, input }) => listOwnDisclosures(ctx, input)),

  endLostAnswers: host.mutation(({ ctx }) => endLostAnswers(ctx)),

  deleteOldDisclosures: host.mutation(({ ctx }) => deleteOldRows(ctx)),
})
