import { AI_USER_ID } from '../../../entities/identity/user.ts'
import { type AnswerPlace, findAnswerPlace } from '../../../entities/rooms/room-disclosure.sql.ts'
import type { Asking } from '../../ai/asking.ts'
import { Problem } from '../../core/problems.ts'
import { unknown } from '../../verbs/lock.ts'
import { noSuchRoom } from '../room-access.ts'
import type { RoomQuestion } from './question.ts'

const keyOf = (id: string | null) => (id === null ? null : Number(id))

/** Where the answer goes, before anything is spent on it; returns the membership of the AI user, who will be its author. */
export async function findPlace(ctx: Asking, asked: RoomQuestion): Promise<number> {
  const { caller, services } = ctx
  const [room, person] = [Number(asked.id), caller.person.id]
  const sources = asked.messages.flatMap(({ source }) => (source === null ? [] : [Number(source)]))
  const values = [room, person, AI_USER_ID, keyOf(asked.thread), keyOf(asked.replaces), sources]
  const [place] = await services.sql(findAnswerPlace, values)
  if (!place) throw noSuchRoom(room)
  if (!['admin', 'editor'].includes(place.role)) throw new Problem('not_permitted')
  if (place.assistant === null) throw new Problem('conflict', { detail: 'The AI user is no member of this room.' })
  const issues = missingIn(place, asked)
  if (issues.length > 0) throw new Problem('not_found', { issues })
  if (asked.replaces !== null && place.role !== 'admin' && place.askedBy !== person) throw new Problem('not_permitted')
  return place.assistant
}

function missingIn({ hasThread, replaced, known }: AnswerPlace, asked: RoomQuestion) {
  const inRoom = new Set(known)
  const missing = (...path: (string | number)[]) => unknown('room-messages', path)
  return [
    ...(hasThread ? [] : [missing('thread')]),
    ...(asked.replaces === null || replaced !== null ? [] : [missing('replaces')]),
    ...asked.messages.flatMap(({ source }, at) =>
      source === null || inRoom.has(Number(source)) ? [] : [missing('messages', at, 'source')],
    ),
  ]
}
