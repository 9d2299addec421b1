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

/** How long a forced announcement may be published before it is asked for, in milliseconds. */
const FRESH_MS = 5000
const MAX_PEOPLE = 50_000

/**
 * Refuses people who write, or ask a model, before they have accepted what they must. While nothing is forced it looks into the
 * database once in a while; of those who have accepted everything it remembers that. What is forced stays so while its text is
 * missing, and the refusal says who can help.
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
      ? `Read the announcement ${id} on your profile page, and accept it first.`
      : `The announcement ${id} has no text. Ask your administrator to restore it; then read it on your profile page, and accept it first.`,
    meta: { announcement: String(id) },
  })

/** Keeps that somebody who registers has accepted the policy that was shown to them. One whose text is lost they accept later. */
export function recordAcceptedPolicy(readText: ReadAnnouncementText): Listener<Hooks['user-registered']> {
  return async ({ userId, em, policy }) => {
    if (!policy) return
    const [found] = await runStatement(em, findAnnouncement, [policy.id, userId])
    if (found && (await readText(found.view)))
      await runStatement(em, markAnnouncementAccepted, [policy.id, userId, policy.version])
  }
}
