import type { RoomToAsk } from '../../entities/rooms/room-member.sql.ts'

export interface OwnRoom {
  room: number
  /** The id of the membership. */
  member: number
}

/** The rooms of people, cached by slug until something changes, and the rooms to ask in. */
export interface RoomDirectory {
  /** Returns rooms read at `since` or later, in milliseconds of `performance.now()`; without it, the cached ones. */
  findRooms(person: number, since?: number): Promise<ReadonlyMap<string, OwnRoom>>
  /** Reads the rooms in which a person may have models answer. */
  findRoomsToAsk(person: number): Promise<readonly RoomToAsk[]>
  /** Returns true if these rooms are still the cached ones of the person. */
  isCurrent(person: number, rooms: ReadonlyMap<string, OwnRoom>): boolean
}
