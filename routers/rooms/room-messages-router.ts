import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { findMessageByNumber } from '../../entities/rooms/room.sql.ts'
import { eraseMessage, findRoomOfMessage, lockRoomOfMessage } from '../../entities/rooms/room-message.sql.ts'
import type { ChangeRecorder, Stream } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import { exposeAs } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf } from '../resource/record.ts'
import { dropUnchanged } from '../verbs/drop-unchanged.ts'
import { lockRow, type Version } from '../verbs/lock-row.ts'
import { defineReads, getNamedRow, getRow } from '../verbs/read.ts'
import { updateRow } from '../verbs/write.ts'
import { buildCreateInput, buildUpdateInput, ifVersion } from '../verbs/write-inputs.ts'
import { deleteAttachmentsOfMessage } from './attachments/message-attachments.ts'
import { assertKeyOfEditedMessageInUse } from './key-epochs.ts'
import { assertContentFits, createMissingContentProblem } from './message-content.ts'
import { shareMessages } from './message-records.ts'
import { roomMessages } from './room-messages.ts'
import { type OutgoingMessage, sendMessage } from './send-message.ts'

const numberInput = z.string().regex(/^\d{1,9}\.\d{3,9}$/, { error: 'must be the number of a message, such as 12.000' })

export const roomMessagesRouter = router({
  ...defineReads(roomMessages),

  find: userWith('read')
    .meta(about('Read a message by its number in a room.'))
    .input(z.strictObject({ room: resourceId, number: numberInput }))
    .query(async ({ ctx, input }): Promise<RecordOf<typeof roomMessages>> => {
      const [found] = await ctx.services.sql(findMessageByNumber, [input.room, ...input.number.split('.').map(Number)])
      // Callers who may not see the room do not learn which numbers exist.
      const include = ['member.user', 'attachments']
      return getNamedRow(ctx, roomMessages, found, { unknown: 'There is no such message.', include })
    }),

  create: userWith('write')
    .meta({ ...exposeAs(roomMessages, 'create'), ...withBodySize('long text') })
    .input(buildCreateInput(roomMessages))
    .mutation(async ({ ctx, input }): Promise<RecordOf<typeof roomMessages>> => {
      const { id, record } = await sendMessage(ctx, input as unknown as OutgoingMessage)
      return record && !ctx.isRequested(roomMessages.type, 'readBy') ? record : getRow(ctx, roomMessages, id)
    }),

  /** Only the author may edit. */
  update: userWith('write')
    .meta({ ...exposeAs(roomMessages, 'update'), ...withBodySize('long text') })
    .use(dropUnchanged(roomMessages))
    .input(buildUpdateInput(roomMessages))
    .mutation(async ({ ctx, input }): Promise<RecordOf<typeof roomMessages>> => {
      assertContentFits(ctx, input)
      if (input['content'] === null) throw createMissingContentProblem()
      return updateRow(ctx, roomMessages, input, {
        stream: await findStream(ctx, input),
        beforeWrite: (em) => lockRoom(em, input),
        async afterFlush({ em, changes, row }) {
          await assertKeyOfEditedMessageInUse(ctx, em, row.id)
          const { room } = row as unknown as { room: { id: number } }
          await shareMessages(ctx, { em, changes, room: room.id, ids: [input.id] })
        },
      })
    }),

  /** The author and the administrators of the room may delete. */
  delete: userWith('write')
    .meta(exposeAs(roomMessages, 'delete'))
    .input(z.strictObject({ id: roomMessages.ids.schema, ifVersion }))
    .mutation(({ ctx, input }) => deleteMessage(ctx, input)),
})

/** Erases the content of a message and keeps its number. Repeating it changes nothing. */
async function deleteMessage(ctx: Context, { id, ifVersion }: Version): Promise<{ id: string }> {
  const erase = async (em: EntityManager, changes: ChangeRecorder) => {
    await lockRoom(em, { id })
    await lockRow(ctx, em, roomMessages, { id, ifVersion, verb: 'delete' })
    const [erased] = await runStatement(em, eraseMessage, [roomMessages.ids.toKey(id)])
    if (!erased) return
    await deleteAttachmentsOfMessage({ em, changes }, roomMessages.ids.toKey(id))
    changes.add([`room:${erased.room}`], 'updated', 'room-messages', id)
    await shareMessages(ctx, { em, changes, room: erased.room, ids: [id], areWithoutFiles: true })
  }
  await withChangeLog(ctx, erase, await findStream(ctx, { id }))
  return { id }
}

/** Finds the stream of the room of a message. */
async function findStream({ services }: Context, { id }: Version): Promise<Stream | undefined> {
  const [found] = await services.sql(findRoomOfMessage, [roomMessages.ids.toKey(id)])
  return found && `room:${found.room}`
}

const lockRoom = (em: EntityManager, { id }: Version) =>
  runStatement(em, lockRoomOfMessage, [roomMessages.ids.toKey(id)])
