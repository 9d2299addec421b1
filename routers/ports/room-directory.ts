import type { RoomToAsk } from '../../entities/rooms/room-member.sql.ts'

export interface OwnRoom {
  room: number
  /** The id of the membership. */
  member: number
}

/** The rooms of people: by slug, kept in the process as long as nothing changes them, and those to ask in. */
export interface RoomDirectory {
  /** As they were read at `since` or later, in milliseconds of `performance.now()`; without it as they are known. */
  findRooms(person: number, since?: number): Promise<ReadonlyMap<string, OwnRoom>>
  /** Those in which a person may have models answer, as they are now. */
  findRoomsToAsk(person: number): Promise<readonly RoomToAsk[]>
  /** Whether these are still what is known of the person. */
  isCurrent(person: number, rooms: ReadonlyMap<string, OwnRoom>): boolean
}
