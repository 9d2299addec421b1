import { LRUCache } from 'lru-cache'
import type { Sql } from '../../entities/sql/statement.ts'
import {
  findAnnouncement,
  findUnacceptedAnnouncement,
  listForcedAnnouncements,
  markAnnouncementAccepted,
} from '../../entities/system/announcement.sql.ts'
import type { Hooks, Listener } from '../core/hooks.ts'
import { maxEntries } from '../core/load/cache-size.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import type { ReadAnnouncementText } from '../ports/announcement-texts.ts'

/** Milliseconds until a new forced announcement is enforced. */
const FRESH_MS = 5000
const MAX_PEOPLE = 50_000

/**
 * Creates a listener that refuses actions of people who have not accepted all forced announcements. Forced
 * announcements are cached briefly, and people who accepted all of them are remembered. An announcement stays enforced
 * while its text is missing; the error says who can help.
 */
export function requireAcceptance(readText: ReadAnnouncementText): Listener<Hooks['user-acting']> {
  const forcedIds = new LRUCache<'ids', string, Sql>({ max: 1, ttl: FRESH_MS, fetchMethod: listForced })
  const acceptedIds = new LRUCache<number, string>(maxEntries(MAX_PEOPLE))
  return async ({ userId, sql }) => {
    const all = await forcedIds.forceFetch('ids', { context: sql })
    if (all === '' || acceptedIds.get(userId) === all) return
    const [next] = await sql(findUnacceptedAnnouncement, [userId])
    if (next) throw createPendingProblem(next.id, Boolean(await readText(next.view)))
    acceptedIds.set(userId, all)
  }
}

const listForced: LRUCache.Fetcher<'ids', string, Sql> = async (_ids, _stale, { context: sql }) => {
  const rows = await sql(listForcedAnnouncements)
  return rows.map(({ id }) => id).join()
}

const createPendingProblem = (id: number, hasText: boolean) =>
  new Problem('announcement_pending', {
    detail: hasText
      ? `Open a chat or a room in the browser, read the announcement ${id} there, and accept it first.`
      : `The announcement ${id} has no text. Ask your administrator to restore it; then open a chat or a room in the browser, read it there, and accept it first.`,
    meta: { announcement: String(id) },
  })

/**
 * Creates a listener that records the policy accepted at registration. A policy with a missing text is accepted later.
 */
export function recordAcceptedPolicy(readText: ReadAnnouncementText): Listener<Hooks['user-registered']> {
  return async ({ userId, em, policy }) => {
    if (!policy) return
    const [found] = await runStatement(em, findAnnouncement, [policy.id, userId])
    if (found && (await readText(found.view)))
      await runStatement(em, markAnnouncementAccepted, [policy.id, userId, policy.version])
  }
}
