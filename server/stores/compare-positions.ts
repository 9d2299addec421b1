import { findStreamsAhead } from '../../entities/rooms/change-log.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { FollowedStream } from './followed-stream.ts'

/** How often positions are compared with the log, in milliseconds: whoever wrote a change may have been killed before telling it. */
const INTERVAL_MS = 800

/** Streams that one statement compares. */
const MAX_STREAMS = 5000

/** Names the streams that have gone on unheard. Looks at all of them in turn, so many at a time; returns the way to stop. */
export function comparePositions(
  sql: Sql,
  streams: ReadonlyMap<string, FollowedStream>,
  onBehind: (stream: FollowedStream) => void,
): () => void {
  let next = 0
  let isRunning = false
  const compare = async () => {
    const all = [...streams.values()]
    if (next >= all.length) next = 0
    const some = all.slice(next, next + MAX_STREAMS)
    next += MAX_STREAMS
    for (const stream of await findBehind(sql, some)) onBehind(stream)
  }
  const timer = setInterval(async () => {
    if (isRunning) return
    isRunning = true
    // While the database is away there is nothing to compare with.
    await compare().catch(() => {})
    isRunning = false
  }, INTERVAL_MS).unref()
  return () => clearInterval(timer)
}

async function findBehind(sql: Sql, streams: readonly FollowedStream[]): Promise<FollowedStream[]> {
  const begun = streams.filter(({ position }) => position)
  if (begun.length === 0) return []
  const values = [begun.map(({ name }) => name), begun.map(({ position }) => position?.seq)]
  const [found] = await sql(findStreamsAhead, values)
  const ahead = new Set(found?.ahead)
  return begun.filter(({ name, position }) => ahead.has(name) || position?.epoch !== found?.epoch)
}
