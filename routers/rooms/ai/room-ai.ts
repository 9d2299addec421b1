import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AI_USER_ID } from '../../../entities/identity/user.ts'
import {
  type AnswerTarget,
  beginDisclosure,
  deleteOldDisclosures,
  endDisclosure,
  endLostDisclosures,
  findAnswerTarget,
  findDisclosure,
  findLostDisclosure,
  listDisclosures,
} from '../../../entities/rooms/room-disclosure.sql.ts'
import { type ChatContext, canAskInRooms } from '../../ai/chat-context.ts'
import { startCall } from '../../ai/start-call.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { about, host, router, userWith, withBodySize } from '../../core/trpc.ts'
import { ANSWER_LEASE_MS, type AnswerDisclosure } from '../../ports/room-answers.ts'
import { resourceId } from '../../resource/ids.ts'
import { rowAction } from '../../verbs/action.ts'
import { deleteInBatches } from '../../verbs/delete-in-batches.ts'
import { createUnknownIssue } from '../../verbs/lock-row.ts'
import { assertKeyInUse } from '../key-epochs.ts'
import { createUnknownRoomProblem, enterRoom } from '../room-access.ts'
import { rooms } from '../rooms.ts'
import { lockForWriter } from '../send-message.ts'
import { hashDisclosedParts } from './disclosed-parts.ts'
import { RoomKnowledgeDisclosure } from './knowledge-disclosure.ts'
import { type AnswerCall, writeAnswer } from './room-answer.ts'
import { type RoomQuestion, roomQuestion, toAiRequest } from './room-question.ts'

const PAGE_SIZE = 50
const MAX_ID = 2_147_483_647

const disclosuresInput = z.strictObject({
  id: resourceId,
  page: z
    .strictObject({ before: resourceId.optional().describe('The id of a disclosure. The list has only earlier ones.') })
    .optional(),
})

/** Lists the disclosures to models in a room, the newest first, as its members see them. */
async function listRoomDisclosures(ctx: ChatContext, { id, page }: z.output<typeof disclosuresInput>) {
  const before = Number(page?.before ?? MAX_ID)
  const values = [Number(id), ctx.caller.person.id, before, PAGE_SIZE + 1]
  const [found] = await ctx.services.sql(listDisclosures, values)
  if (!found) throw createUnknownRoomProblem(Number(id))
  const { disclosures } = found
  return { meta: { disclosures: disclosures.slice(0, PAGE_SIZE), hasMore: disclosures.length > PAGE_SIZE } }
}

const disclosureSelector = z.strictObject({
  id: resourceId,
  disclosure: resourceId.describe('The id of the disclosure, as the response to the question gave it.'),
})

/**
 * Cancels a running answer; only its asker and the administrators of the room may do so. The replica that runs it
 * learns of it by the change. An answer that has ended stays as it is.
 */
async function cancelAnswer(ctx: ChatContext, { id, disclosure }: z.output<typeof disclosureSelector>) {
  const [room, key] = [Number(id), Number(disclosure)]
  const cancel = async (em: EntityManager, changes: ChangeRecorder) => {
    const { member } = await enterRoom(ctx, em, room, ['admin', 'editor', 'viewer'])
    const [found] = await runStatement(em, findDisclosure, [key, room])
    if (!found) throw new Problem('not_found')
    if (found.user !== ctx.caller.person.id && member.role !== 'admin') throw new Problem('not_permitted')
    const [ended] = await runStatement(em, endDisclosure, [key, 'cancelled', null, null])
    if (ended) changes.add([`room:${room}`], 'updated', 'room-disclosures', key)
  }
  await withChangeLog(ctx, cancel, `room:${room}`)
  return { meta: {} }
}

/**
 * Ends the answers whose process is gone, and records the change in their rooms. Several replicas may call it at once.
 */
async function endLostAnswers(ctx: Context): Promise<{ ended: number }> {
  const [lost] = await ctx.services.sql(findLostDisclosure)
  if (!lost) return { ended: 0 }
  return withChangeLog(ctx, async (em, changes) => {
    const ended = await runStatement(em, endLostDisclosures, [])
    for (const { id, room } of ended) changes.add([`room:${room}`], 'updated', 'room-disclosures', id)
    return { ended: ended.length }
  })
}

/** Rows that are deleted in one transaction. */
const BATCH_SIZE = 500

/** Deletes disclosures older than the settings allow. Several replicas may call it at once. */
async function deleteExpiredDisclosures(ctx: Context): Promise<{ deleted: number }> {
  const months = ctx.services.settings.rooms.disclosureMonths
  if (months === undefined) return { deleted: 0 }
  return deleteInBatches(BATCH_SIZE, () =>
    withChangeLog(ctx, async (em, changes) => {
      const deleted = await runStatement(em, deleteOldDisclosures, [months, BATCH_SIZE])
      for (const { id, room } of deleted) changes.add([`room:${room}`], 'deleted', 'room-disclosures', id)
      return deleted
    }),
  )
}

/** Procedures for models in rooms: members disclose messages to them, and their answers are encrypted for the room. */
export const roomAiRouter = router({
  ask: rowAction(rooms, 'ask', userWith('ai'))
    .meta({
      ...about(
        'Ask a model, or an assistant by `assistant/<handle>`, to answer in a room, from the messages that the caller discloses to it. The answer is a message of the room.',
      ),
      ...withBodySize('AI request with files'),
    })
    .input(roomQuestion)
    .mutation(({ ctx, input }) => askInRoom(ctx, input)),

  cancelAnswer: rowAction(rooms, 'cancel-answer', userWith('ai'))
    .meta(about('Cancel an answer that a model is giving in a room.'))
    .input(disclosureSelector)
    .mutation(({ ctx, input }) => cancelAnswer(ctx, input)),

  disclosures: rowAction(rooms, 'disclosures', userWith('read'))
    .meta(about('List the disclosures of a room to models: ids, sizes and hashes, and never a text.'))
    .input(disclosuresInput)
    .query(({ ctx, input }) => listRoomDisclosures(ctx, input)),

  endLostAnswers: host.mutation(({ ctx }) => endLostAnswers(ctx)),

  deleteOldDisclosures: host.mutation(({ ctx }) => deleteExpiredDisclosures(ctx)),
})

/**
 * Has a model answer in a room. The disclosure is recorded for all members first; the answer is written in the
 * background, and its end is recorded for the room, too. Returns the id of the disclosure.
 */
async function askInRoom(ctx: ChatContext, question: RoomQuestion): Promise<{ meta: { disclosure: string } }> {
  if (!canAskInRooms(ctx)) throw new Problem('ai_in_rooms_off')
  const author = await findAnswerAuthor(ctx, question)
  using running = ctx.services.rooms.answers.open(ctx.caller.person.id)
  const { signal } = running
  const approvalMode = question.mayAsk ? 'inline' : undefined
  const key = Buffer.from(question.key, 'base64')
  const knowledge = new RoomKnowledgeDisclosure(ctx, Number(question.id), key)
  const options = { roomId: knowledge.room, disclosure: knowledge, approvalMode } as const
  // The room reads the answer, and not the client of this request.
  const roomContext = { ...ctx, signal: () => signal, watchUnread: () => {} }
  const call = await startCall(roomContext, toAiRequest(question), options)
  const disclosure = await disclose(ctx, question, { key, call }).catch((error: unknown) => {
    call.abandon()
    throw error
  })
  knowledge.begin(disclosure.id)
  // Only the call itself keeps the disclosed messages while the answer is awaited.
  const { messages: _, key: __, id: ___, ...where } = question
  const { model, assistant } = call
  running.run(disclosure, () => writeAnswer(ctx, { ...where, ...disclosure, model, assistant, author }, { key, call }))
  return { meta: { disclosure: `${disclosure.id}` } }
}

/** Records the disclosure if the asker may write and uses the current key. */
async function disclose(
  ctx: ChatContext,
  question: RoomQuestion,
  { key, call }: AnswerCall,
): Promise<AnswerDisclosure> {
  // Hashing comes before the room is locked, because others wait for the lock.
  // The instructions of an assistant come before the messages, and are nothing of the room.
  const sentMessages = call.messages.slice(-question.messages.length)
  const parts = JSON.stringify(await hashDisclosedParts(key, question.messages, sentMessages))
  const room = Number(question.id)
  const write = async (em: EntityManager, changes: ChangeRecorder) => {
    const writer = await lockForWriter(ctx, em, room)
    assertKeyInUse(ctx, question.keyEpoch, writer)
    const { disclosures: maxDisclosures } = ctx.services.settings.rooms
    const asked = [call.provider, call.model, parts]
    const limits = [ANSWER_LEASE_MS, maxDisclosures]
    const values = [room, ctx.caller.person.id, ...asked, ...limits, call.assistant ?? null, call.passages ?? null]
    const [inserted] = await runStatement(em, beginDisclosure, values)
    const { id, dropped } = inserted as { id: number; dropped: number[] }
    for (const old of dropped) changes.add([`room:${room}`], 'deleted', 'room-disclosures', old)
    changes.add([`room:${room}`], 'created', 'room-disclosures', id)
    return { id, room, member: writer.member }
  }
  return withChangeLog(ctx, write, `room:${room}`)
}

const toNumberOrNull = (id: string | null) => (id === null ? null : Number(id))

/**
 * Checks the destination before anything is spent on the answer; returns the membership of the AI user, who will be its
 * author.
 */
async function findAnswerAuthor(ctx: ChatContext, question: RoomQuestion): Promise<number> {
  const { caller, services } = ctx
  const [room, person] = [Number(question.id), caller.person.id]
  const sources = question.messages.flatMap(({ source }) => (source === null ? [] : [Number(source)]))
  const values = [room, person, AI_USER_ID, toNumberOrNull(question.thread), toNumberOrNull(question.replaces), sources]
  const [target] = await services.sql(findAnswerTarget, values)
  if (!target) throw createUnknownRoomProblem(room)
  if (!['admin', 'editor'].includes(target.role)) throw new Problem('not_permitted')
  if (target.assistant === null) throw new Problem('conflict', { detail: 'The AI user is no member of this room.' })
  const issues = findMissingMessages(target, question)
  if (issues.length > 0) throw new Problem('not_found', { issues })
  if (question.replaces !== null && target.role !== 'admin' && target.askedBy !== person)
    throw new Problem('not_permitted')
  return target.assistant
}

function findMissingMessages({ hasThread, replaced, known }: AnswerTarget, question: RoomQuestion) {
  const inRoom = new Set(known)
  const createIssue = (...path: (string | number)[]) => createUnknownIssue('room-messages', path)
  return [
    ...(hasThread ? [] : [createIssue('thread')]),
    ...(question.replaces === null || replaced !== null ? [] : [createIssue('replaces')]),
    ...question.messages.flatMap(({ source }, at) =>
      source === null || inRoom.has(Number(source)) ? [] : [createIssue('messages', at, 'source')],
    ),
  ]
}
