import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'
import type { AnnouncementType } from './announcement.ts'

export interface AnnouncementRow {
  id: number
  title: string
  view: string
  type: AnnouncementType
  isForced: boolean
  isGlobal: boolean
  anchor: string | null
  startsAt: string
  expiresAt: string | null
}

const columns = `a.id, a.title, a.view, a.type, a.is_forced as "isForced", a.is_global as "isGlobal", a.anchor,
    ${isoTime('a.starts_at')} as "startsAt", ${isoTime('a.expires_at')} as "expiresAt"`

const isActive = 'a.starts_at <= now() and (a.expires_at is null or a.expires_at > now())'

const isFor = (user: string) => `(a.is_global or exists (
    select from announcement_targets t where t.announcement_id = a.id and t.user_id = ${user}))`

const isAccepted = (user: string) => `exists (
    select from announcement_receipts r
     where r.announcement_id = a.id and r.user_id = ${user} and r.accepted_at is not null)`

/** Lists unaccepted announcements, blocking ones first. Values: the user's id. */
export const listPendingAnnouncements = statement<AnnouncementRow>(
  'list-pending-announcements',
  `select ${columns} from announcements a
    where ${isActive} and ${isFor('$1')} and not ${isAccepted('$1')}
    order by (a.is_forced and a.anchor is null) desc, a.id limit 100`,
)

/** Values: the id of an announcement and the user's. */
export const findAnnouncement = statement<AnnouncementRow>(
  'find-announcement',
  `select ${columns} from announcements a where a.id = $1 and ${isActive} and ${isFor('$2')}`,
)

/** Finds the newest policy for everybody. */
export const findLatestPolicy = statement<AnnouncementRow>(
  'find-latest-policy',
  `select ${columns} from announcements a
    where ${isActive} and a.type = 'policy' and a.is_global order by a.starts_at desc, a.id desc limit 1`,
)

/** Marks an announcement as seen; the first time is kept. Values: the ids of the announcement and of the user. */
export const markAnnouncementSeen = statement<{ id: number }>(
  'mark-announcement-seen',
  `insert into announcement_receipts (announcement_id, user_id)
   select a.id, $2 from announcements a where a.id = $1 and ${isActive} and ${isFor('$2')}
   on conflict (user_id, announcement_id) do update set seen_at = announcement_receipts.seen_at
   returning announcement_id as id`,
)

/**
 * Marks an announcement as accepted; the first acceptance is kept. Values: the ids of the announcement and of the user,
 * and the version of the text.
 */
export const markAnnouncementAccepted = statement<{ id: number }>(
  'mark-announcement-accepted',
  `insert into announcement_receipts (announcement_id, user_id, accepted_at, version)
   select a.id, $2, now(), $3 from announcements a where a.id = $1 and ${isActive} and ${isFor('$2')}
   on conflict (user_id, announcement_id) do update
     set accepted_at = coalesce(announcement_receipts.accepted_at, excluded.accepted_at),
         version = coalesce(announcement_receipts.version, excluded.version)
   returning announcement_id as id`,
)

/** Lists announcements that people must accept before they write. */
export const listForcedAnnouncements = statement<{ id: number }>(
  'list-forced-announcements',
  `select a.id from announcements a where a.is_forced and a.anchor is null and ${isActive} order by a.id`,
)

/** Finds the first announcement that the user must still accept. Values: the user's id. */
export const findUnacceptedAnnouncement = statement<{ id: number; view: string }>(
  'find-unaccepted-announcement',
  `select a.id, a.view from announcements a
    where a.is_forced and a.anchor is null and ${isActive} and ${isFor('$1')} and not ${isAccepted('$1')}
    order by a.id limit 1`,
)

/** Lists active announcements for all recipients, blocking ones first. */
export const listCurrentAnnouncements = statement<{ id: number; view: string; isForced: boolean }>(
  'list-current-announcements',
  `select a.id, a.view, a.is_forced as "isForced" from announcements a
    where ${isActive} order by a.is_forced desc, a.id limit 100`,
)

/** Lists all announcements with the numbers of people who have seen and accepted them, newest first. */
export const listAnnouncements = statement<AnnouncementRow & { seen: number; accepted: number }>(
  'list-announcements',
  `select ${columns}, count(r.user_id)::int as seen, count(r.accepted_at)::int as accepted
     from announcements a left join announcement_receipts r on r.announcement_id = a.id
    group by a.id order by a.id desc limit 1000`,
)

/** Lists the people who have seen an announcement. Values: its id, limit and offset. */
export const listReceipts = statement<{
  userId: number
  username: string
  name: string
  seenAt: string
  acceptedAt: string | null
}>(
  'list-announcement-receipts',
  `select u.id as "userId", u.username, u.name, ${isoTime('r.seen_at')} as "seenAt", ${isoTime('r.accepted_at')} as "acceptedAt"
     from announcement_receipts r join ${User.tableName} u on u.id = r.user_id
    where r.announcement_id = $1 order by r.accepted_at desc nulls last, r.seen_at desc, u.id limit $2 offset $3`,
)

/** Finds a person who has accepted an announcement. Values: its id. */
export const findAcceptance = statement<{ user: number }>(
  'find-acceptance',
  `select user_id as user from announcement_receipts where announcement_id = $1 and accepted_at is not null limit 1`,
)
