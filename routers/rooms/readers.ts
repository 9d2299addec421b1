import { findReadMarks, type ReadMark } from '../../entities/rooms/room-read-mark.sql.ts'
import type { FindValues, FoundRow } from '../resource/on-demand.ts'

/** More than anybody looks at, and few enough for a page of messages. */
const MAX_READERS = 200

/** Of each message the ids of the members who have read it or wrote it, the caller's first: one statement for all of them. */
export const findReaders: FindValues = async (messages, { sql, viewer }) => {
  const found = await sql(findReadMarks, [[...new Set(messages.map(roomOf))], viewer])
  const byRoom = new Map(found.map(({ room, marks }) => [room, marks]))
  return messages.map((message) => readersOf(message, byRoom.get(roomOf(message)) ?? []))
}

const roomOf = ({ relations }: FoundRow) => Number(relations['room']?.id)

function readersOf({ id, relations }: FoundRow, marks: readonly ReadMark[]): number[] {
  const author = Number(relations['member']?.id)
  const hasRead = (after: number, upTo: number) => after < Number(id) && Number(id) <= upTo
  const read = marks.filter(([member, , after, upTo]) => member === author || hasRead(after, upTo))
  return read.slice(0, MAX_READERS).map(([, person]) => person)
}
