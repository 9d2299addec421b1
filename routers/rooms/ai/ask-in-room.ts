import { beginDisclosure } from '../../../entities/rooms/room-disclosure.sql.ts'
import { begin } from '../../ai/ask.ts'
import { type Asking, mayAskInRooms } from '../../ai/asking.ts'
import type { MeteredCall } from '../../ai/metered-call.ts'
import { changing } from '../../core/changes.ts'
import { Problem } from '../../core/problems.ts'
import { runNamed } from '../../core/run-named.ts'
import { ANSWER_LEASE_MS, type Told } from '../../ports/room-answers.ts'
import { assertKeyInUse } from '../key-epoch.ts'
import { lockForWriter } from '../send-message.ts'
import { findPlace } from './answer-place.ts'
import { disclosedParts } from './disclosed-parts.ts'
import { type RoomQuestion, requestOf } from './question.ts'
import { writeAnswer } from './write-answer.ts'

/**
 * Has a model answer in a room. Everybody there is told what is disclosed to it before it is; the answer is made behind this
 * call, and its end is told to the room as well. Returns the id of the disclosure.
 */
export async function askInRoom(ctx: Asking, asked: RoomQuestion): Promise<{ meta: { disclosure: string } }> {
  if (!mayAskInRooms(ctx)) throw new Problem('ai_in_rooms_off')
  const author = await findPlace(ctx, asked)
  using running = ctx.services.roomAnswers.open(ctx.caller.person.id)
  const { signal } = running
  const call = await begin({ ...ctx, signal: () => signal }, requestOf(asked), { room: Number(asked.id) })
  const key = Buffer.from(asked.key, 'base64')
  const told = await disclose(ctx, asked, { key, call }).catch((error: unknown) => {
    call.abandon()
    throw error
  })
  // Nothing of what was disclosed is kept while the answer is waited for, but by the call itself.
  const { messages: _, key: __, id: ___, ...where } = asked
  running.run(told, () => writeAnswer(ctx, { ...where, ...told, author }, { key, call }))
  return { meta: { disclosure: `${told.id}` } }
}

interface Disclosing {
  key: Buffer
  call: MeteredCall
}

/** Writes down what a model is given, where the asker may write and has the key that is in use. */
async function disclose(ctx: Asking, asked: RoomQuestion, { key, call }: Disclosing): Promise<Told> {
  // Before the room is locked, for which others wait.
  const parts = JSON.stringify(await disclosedParts(key, asked.messages, call.messages))
  return changing(ctx, async (em, changes) => {
    const room = Number(asked.id)
    const writer = await lockForWriter(ctx, em, room)
    assertKeyInUse(ctx, asked.keyEpoch, writer)
    const { disclosures: most } = ctx.services.settings.rooms
    const values = [room, ctx.caller.person.id, call.provider, asked.model, parts, ANSWER_LEASE_MS, most]
    const [begun] = await runNamed(em, beginDisclosure, values)
    const { id, dropped } = begun as { id: number; dropped: number[] }
    for (const old of dropped) changes.add([`room:${room}`], 'deleted', 'room-disclosures', old)
    changes.add([`room:${room}`], 'created', 'room-disclosures', id)
    return { id, room, member: writer.member }
  })
}
