import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  countReactions,
  deleteReaction,
  deleteReactionsOfPerson,
  findRoomForReaction,
  insertReaction,
  listReactions,
  MAX_REACTION,
  type MessageReactions,
} from '../../entities/rooms/room-reaction.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import type { Erasure } from '../core/hooks.ts'
import { createQuotaProblem, Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, router, userWith } from '../core/trpc.ts'
import { resourceId } from '../resource/ids.ts'
import { createUnknownIssue } from '../verbs/lock-row.ts'
import { toViewer } from '../verbs/viewer.ts'
import { assertKeyInUse } from './key-epochs.ts'
import { keyEpoch, sealedText } from './message-content.ts'
import { enterRoom } from './room-access.ts'
import { lockForWriter } from './send-message.ts'

/** Messages whose reactions are read at once. */
const MAX_MESSAGES = 200
/** The reactions to a message, by everybody and by one person. A change carries all of them. */
const [MAX_PER_MESSAGE, MAX_PER_PERSON] = [50, 10]

const newReaction = z.strictObject({ message: resourceId, content: sealedText.max(MAX_REACTION), keyEpoch })
const ownReaction = z.strictObject({ message: resourceId, id: resourceId })

/** Reactions are encrypted in browsers like messages, and belong to no type of the JSON:API. */
export const roomReactionsRouter = router({
  list: userWith('read')
    .meta(about('List the reactions to messages, encrypted. Messages without reactions are omitted.'))
    .input(z.strictObject({ messages: z.array(resourceId).max(MAX_MESSAGES) }))
    .query(
      ({ ctx, input }): Promise<MessageReactions[]> =>
        ctx.services.sql(listReactions, [input.messages.map(Number), ctx.caller.person.id]),
    ),

  add: userWith('write')
    .meta(about('Add a reaction to a message. The response has all reactions to it.'))
    .input(newReaction)
    .mutation(({ ctx, input: { message, content, keyEpoch: usedEpoch } }) =>
      changeReactions(ctx, message, async (em, room) => {
        const writer = await lockForWriter(ctx, em, room)
        assertKeyInUse(ctx, usedEpoch, writer)
        const [count] = await runStatement(em, countReactions, [Number(message), writer.member])
        if (!count) throw createUnknownMessageProblem()
        if (count.own >= MAX_PER_PERSON)
          throw createQuotaProblem(`A person has at most ${MAX_PER_PERSON} reactions to a message.`)
        if (count.all >= MAX_PER_MESSAGE)
          throw createQuotaProblem(`A message has at most ${MAX_PER_MESSAGE} reactions.`)
        await runStatement(em, insertReaction, [Number(message), writer.member, content, usedEpoch])
        return true
      }),
    ),

  /** Repeating it changes nothing. */
  remove: userWith('write')
    .meta(about('Remove a reaction of the caller. The response has the other reactions to the message.'))
    .input(ownReaction)
    .mutation(({ ctx, input: { message, id } }) =>
      changeReactions(ctx, message, async (em, room) => {
        const { member } = await enterRoom(ctx, em, room, ['admin', 'editor', 'viewer'])
        const deleted = await runStatement(em, deleteReaction, [Number(id), Number(message), member.id])
        return deleted.length > 0
      }),
    ),
})

/**
 * Changes the reactions to a message under the lock of its room, which the work takes; the work returns false if it
 * changed nothing. The change carries all reactions.
 */
async function changeReactions(
  ctx: Context,
  message: string,
  work: (em: EntityManager, room: number) => Promise<boolean>,
): Promise<MessageReactions> {
  const { viewer } = toViewer(ctx)
  const [found] = await ctx.services.sql(findRoomForReaction, [Number(message), viewer])
  if (!found) throw createUnknownMessageProblem()
  const { room } = found
  const change = async (em: EntityManager, changes: ChangeRecorder) => {
    const hasChanged = await work(em, room)
    const [all = { id: message, reactions: [] }] = await runStatement(em, listReactions, [[Number(message)], viewer])
    if (!hasChanged) return all
    changes.add([`room:${room}`], 'updated', 'room-reactions', message)
    changes.addRecord(`room:${room}`, 'room-reactions', all)
    return all
  }
  return withChangeLog(ctx, change, `room:${room}`)
}

const createUnknownMessageProblem = () =>
  new Problem('not_found', { issues: [createUnknownIssue('room-messages', ['message'])] })

/** Messages whose reactions are recorded as changed when a person is erased: the newest, as pages show those. */
const MAX_CHANGES = 1000

/** Deletes the reactions of an erased person, which say nothing without them. */
export async function deleteReactionsOnErase({ userId, em, changes, report }: Erasure): Promise<void> {
  const deleted = await runStatement(em, deleteReactionsOfPerson, [userId])
  const rooms = new Map(deleted.map(({ message, room }) => [message, room]))
  const newest = [...rooms].toSorted(([one], [other]) => other - one).slice(0, MAX_CHANGES)
  for (const [message, room] of newest) changes.add([`room:${room}`], 'updated', 'room-reactions', message)
  report['room_reactions'] = { deleted: deleted.length, kept: 0 }
}
