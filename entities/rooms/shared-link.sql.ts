import { User } from '../identity/user.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import { Conversation } from './conversation.ts'
import { type LinkAudience, type LinkEnd, SharedLink } from './shared-link.ts'

const links = SharedLink.tableName
const conversations = Conversation.tableName
const users = User.tableName

/** A link as its owner sees it. */
export interface OwnLink {
  /** The part of the address before the key. */
  id: string
  /** The conversation by its name in addresses. */
  slug: string
  name: string
  /** Ciphertext of the name that replaces it. */
  sealedName: string | null
  /** Ciphertext of the key in the address. */
  sealedKey: string
  audience: LinkAudience
  groups: string[]
  createdAt: string
  endsAt: string
  /** True if nobody can read it any more, and its copy is deleted. */
  isEnded: boolean
  /** Null if it has not ended, or if an earlier version of the service recorded the end. */
  endedBy: LinkEnd | null
  /** Time of the copy; null before the first one is stored, and after the end. */
  sharedAt: string | null
  /** Size of the sealed copy. */
  bytes: number | null
}

/** A copy that is still there is left by the time alone: an administrator who ends a link deletes it. */
const endedBy = `case when l.ends_at <= now() then coalesce(l.ended_by, case when l.uuid is not null then 'time' end) end`

const ownColumns = `l.address as id, c.slug, c.name, c.sealed_name as "sealedName", l.sealed_key as "sealedKey", l.audience,
  to_json(l.groups) as groups, ${isoTime('l.created_at')} as "createdAt", ${isoTime('l.ends_at')} as "endsAt",
  l.ends_at <= now() as "isEnded", ${endedBy} as "endedBy", ${isoTime('l.shared_at')} as "sharedAt", l.bytes`

const ofOwner = `from ${links} l join ${conversations} c on c.id = l.conversation_id
  where l.owner_id = $1::int and c.discarded_at is null`

/**
 * Lists the links of a person, those that have ended behind the others, and the newest first. Values: the person's id, the
 * slug of a conversation or null for all, and the limit.
 */
export const listOwnLinks = statement<OwnLink>(
  'list-own-links',
  `select ${ownColumns} ${ofOwner} and ($2::text is null or c.slug = $2) order by "isEnded", l.id desc limit $3`,
)

/** Values: the person's id, and the address. */
export const findOwnLink = statement<OwnLink>(
  'find-own-link',
  `select ${ownColumns} ${ofOwner} and l.ends_at > now() and l.address = $2`,
)

/** Counts the links of a person that have not ended, and measures all copies that are stored. Values: the person's id. */
export const measureLinks = statement<{ count: number; bytes: number }>(
  'measure-shared-links',
  `select count(*) filter (where ends_at > now())::int as count, coalesce(sum(bytes), 0)::float8 as bytes from ${links} where owner_id = $1::int`,
)

/** Values: the person's and the conversation's id, address, sealed key, audience, groups, and the days until its end. */
export const insertLink = statement<never>(
  'insert-shared-link',
  `insert into ${links} (owner_id, conversation_id, address, sealed_key, audience, groups, ends_at)
    values ($1, $2, $3, $4, $5, $6::text[], now() + make_interval(days => $7::int))`,
)

interface LinkToChange {
  rowId: number
  uuid: string | null
  bytes: number | null
}

/** Locks a link of a person, who must be locked. Values: the person's id, and the address. */
export const lockOwnLink = statement<LinkToChange>(
  'lock-own-link',
  `select id as "rowId", uuid, bytes from ${links} where owner_id = $1::int and address = $2 and ends_at > now() for no key update`,
)

/** Values: the id of the row; then, each or null to keep it: audience, groups, and the days until its end. */
export const changeLink = statement<never>(
  'change-shared-link',
  `update ${links} set audience = coalesce($2::text, audience), groups = coalesce($3::text[], groups),
      ends_at = coalesce(now() + make_interval(days => $4::int), ends_at) where id = $1::int`,
)

/** Replaces the copy of a link. Values: the id of the row; name, size and sealed key of the file. */
export const storeCopy = statement<never>(
  'store-shared-copy',
  `update ${links} set uuid = $2::uuid, bytes = $3::int, file_key = $4, shared_at = now() where id = $1::int`,
)

/** A link whose copy is deleted. */
interface DroppedCopy {
  id: string
  /** The name of the file; null for a link without a copy. */
  uuid: string | null
}

const dropped = 'address as id, uuid'

/** Deletes a link of a person, also one that has ended. Values: the person's id, and the address. */
export const deleteOwnLink = statement<DroppedCopy>(
  'delete-own-link',
  `delete from ${links} where owner_id = $1::int and address = $2 returning ${dropped}`,
)

/** Values: a person's id. */
export const deleteLinksOfOwner = statement<DroppedCopy>(
  'delete-shared-links-of',
  `delete from ${links} where owner_id = $1::int returning ${dropped}`,
)

/** Lists the copies of conversations that are about to be deleted with their links. Values: ids of conversations. */
export const listCopiesOfConversations = statement<{ uuid: string }>(
  'list-copies-of-conversations',
  `select uuid from ${links} where conversation_id = any($1::int[]) and uuid is not null`,
)

/** Takes their copies from links, which are over then. The owner sees for some time that they have ended. */
const dropCopies = `uuid = null, bytes = null, file_key = null, shared_at = null`

/** Takes the copies from links whose time is over. Values: how many at most. */
export const dropEndedCopies = statement<{ uuid: string }>(
  'drop-ended-shared-copies',
  `with ended as (
      select id, uuid from ${links} where ends_at <= now() and uuid is not null order by id limit $1 for update skip locked)
    update ${links} l set ended_by = 'time', ${dropCopies} from ended where l.id = ended.id returning ended.uuid`,
)

/**
 * Deletes links that ended long ago, and those that got no copy within an hour. Values: how many at most, and the days for
 * which an ended link is kept.
 */
export const deleteEndedLinks = statement<{ id: number }>(
  'delete-ended-shared-links',
  `delete from ${links} where id in (
      select id from ${links} where uuid is null and (ends_at <= now() - make_interval(days => $2::int)
        or (ends_at > now() and created_at < now() - interval '1 hour'))
      order by id limit $1 for update skip locked)
    returning id`,
)

/** The values that decide who may read a link, after its address in `$1`. */
export interface LinkReader {
  /** Null for a guest. */
  person: number | null
  groups: readonly string[]
  /** True if links without a session are allowed. */
  isOpen: boolean
  /** The groups whose members may share with everybody; null if all may. */
  openGroups: readonly string[] | null
  /** The groups whose members may share at all; null if all may. */
  sharingGroups: readonly string[] | null
}

/** Returns the values of `findReadableCopy`. */
export const toReaderValues = (address: string, reader: LinkReader) => [
  address,
  reader.person,
  reader.groups,
  reader.isOpen,
  reader.openGroups,
  reader.sharingGroups,
]

/** A copy in the file store. */
export interface StoredCopy {
  name: string
  bytes: number
  sealedKey: string
}

/**
 * Finds the copy of a link that a reader may see. It is not read from memory, so that a link ends at once everywhere. Values:
 * those of `toReaderValues`.
 */
export const findReadableCopy = statement<StoredCopy>(
  'find-readable-copy',
  `select l.uuid as name, l.bytes, l.file_key as "sealedKey"
     from ${links} l join ${users} u on u.id = l.owner_id join ${conversations} c on c.id = l.conversation_id
    where l.address = $1 and l.uuid is not null and l.ends_at > now() and not u.disabled and c.discarded_at is null
      and case when $2::int is null then l.audience = 'everybody' and $4::bool and ($5::text[] is null or u.groups && $5::text[])
          else l.owner_id = $2::int or l.audience <> 'groups' or l.groups && $3::text[] end
      and (l.owner_id = $2::int or $6::text[] is null or u.groups && $6::text[])`,
)

/** A link as administrators see it. */
export interface ListedLink {
  id: string
  username: string
  userId: number
  audience: LinkAudience
  bytes: number | null
  createdAt: string
  endsAt: string
  /** The number of all links. */
  total: number
}

/** Lists all links, the newest first. Values: part of a username or null, the limit, and the offset. */
export const listAllLinks = statement<ListedLink>(
  'list-all-shared-links',
  `select l.address as id, u.username, u.id as "userId", l.audience, l.bytes, ${isoTime('l.created_at')} as "createdAt",
      ${isoTime('l.ends_at')} as "endsAt", count(*) over ()::int as total
     from ${links} l join ${users} u on u.id = l.owner_id
    where l.ends_at > now() and ($1::text is null or u.username like $1)
    order by l.id desc limit $2 offset $3`,
)

/** Ends a link of anybody. Values: the address. */
export const endLinkOfAnybody = statement<DroppedCopy & { ownerId: number }>(
  'end-link-of-anybody',
  `with ended as (select id, address, uuid from ${links} where address = $1 and ends_at > now() for no key update)
    update ${links} l set ends_at = now(), ended_by = 'administrator', ${dropCopies} from ended where l.id = ended.id
    returning ended.address as id, ended.uuid, l.owner_id as "ownerId"`,
)

interface CopyRow extends StoredCopy {
  id: number
}

const copyColumns = 'id, uuid as name, bytes, file_key as "sealedKey"'

/** Lists copies in the order of their names. Values: the name after which to continue, and the batch size. */
export const listCopiesByName = unboundedStatement<CopyRow>(
  `select ${copyColumns} from ${links} where uuid > $1::uuid order by uuid limit $2`,
)

/** Finds existing links. Values: ids of rows. */
export const findExistingLinks = unboundedStatement<{ id: number }>(
  `select id from ${links} where id = any($1::int[]) and uuid is not null`,
)

/** Selects files of the store without a link. Values: names of files. */
export const findOrphanedCopies = statement<{ name: string }>(
  'find-orphaned-shared-copies',
  `select file.name::text from unnest($1::uuid[]) file (name) where not exists (select from ${links} l where l.uuid = file.name)`,
)

/** Lists sealed keys of files after an id. Values: the id, and the batch size. */
export const listCopyKeysAfter = unboundedStatement<{ id: number; sealed: string }>(
  `select id, file_key as sealed from ${links} where id > $1::int and file_key is not null order by id limit $2::int`,
)

/** Replaces sealed keys. Values: ids, old keys and new keys. */
export const replaceCopyKeys = statement<{ id: number }>(
  'replace-shared-copy-keys',
  `update ${links} l set file_key = renewed.key from unnest($1::int[], $2::text[], $3::text[]) as renewed (id, before, key)
    where l.id = renewed.id and l.file_key = renewed.before returning l.id`,
)

/** Lists the copies of a person. Values: the person's id, the row after which to continue, and the batch size. */
export const listCopiesOf = unboundedStatement<CopyRow & { address: string }>(
  `select ${copyColumns}, address from ${links} where owner_id = $1::int and id > $2::int and uuid is not null order by id limit $3::int`,
)
