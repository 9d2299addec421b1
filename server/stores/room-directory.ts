import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'
import { findRoomsOfPeople, findRoomsToAsk } from '../../entities/rooms/room-member.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { maxEntries } from '../../routers/core/load/cache-size.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { OwnRoom, RoomDirectory } from '../../routers/ports/room-directory.ts'

type Rooms = ReadonlyMap<string, OwnRoom>

interface Entry {
  /** Time at which the query started. */
  startedAt: number
  reading: Promise<Rooms>
  rooms?: Rooms
}

const MAX_PEOPLE = 20_000
const MAX_AGE_MS = 60_000

/** Largest number of people whose rooms one statement reads. */
const MAX_BATCH = 500

/** Creates a cache of people's rooms. The bus invalidates entries by changes of memberships, and all of them by an interruption. */
export function createRoomDirectory(sql: Sql, bus: ChangeBus): RoomDirectory {
  const entries = new LRUCache<number, Entry>({ ...maxEntries(MAX_PEOPLE), ttl: MAX_AGE_MS })
  const loader = new DataLoader<number, Rooms>((people) => readRooms(sql, people), {
    cache: false,
    maxBatchSize: MAX_BATCH,
    batchScheduleFn: setImmediate,
  })
  bus.subscribe({
    onChanges(changes) {
      for (const { stream, kind } of changes) {
        if (stream.startsWith('user:') && kind !== 'rooms.updated' && kind.startsWith('rooms.'))
          entries.delete(Number(stream.slice('user:'.length)))
      }
    },
    onInterruption: () => entries.clear(),
  })

  function read(person: number): Entry {
    const entry: Entry = { startedAt: performance.now(), reading: loader.load(person) }
    entries.set(person, entry)
    entry.reading.then(
      (rooms) => {
        entry.rooms = rooms
      },
      () => {
        if (entries.peek(person) === entry) entries.delete(person)
      },
    )
    return entry
  }

  return {
    findRooms(person, since = 0) {
      const cached = entries.get(person)
      return (cached && cached.startedAt >= since ? cached : read(person)).reading
    },
    findRoomsToAsk: (person) => sql(findRoomsToAsk, [person]),
    isCurrent: (person, rooms) => entries.get(person)?.rooms === rooms,
  }
}

async function readRooms(sql: Sql, people: readonly number[]): Promise<Rooms[]> {
  const rooms = new Map(people.map((person) => [person, new Map<string, OwnRoom>()]))
  for (const { person, slug, room, member } of await sql(findRoomsOfPeople, [people]))
    rooms.get(person)?.set(slug, { room, member })
  return people.map((person) => rooms.get(person) ?? new Map())
}
