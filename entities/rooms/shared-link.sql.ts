import { User } from '../identity/user.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import { Conversation } from './conversation.ts'
import { type LinkAudience, SharedLink } from './shared-link.ts'

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
  /** Time of the copy; null before the first one is stored. */
  sharedAt: string | null
  /** Size of the sealed copy. */
  bytes: number | null
}

const ownColumns = `l.address as id, c.slug, c.name, c.sealed_name as "sealedName", l.sealed_key as "sealedKey", l.audience,
  to_json(l.groups) as groups, ${isoTime('l.created_at')} as "createdAt", ${isoTime('l.ends_at')} as "endsAt",
  ${isoTime('l.shared_at')} as "sharedAt", l.bytes`

const ofOwner = `from ${links} l join ${conversations} c on c.id = l.conversation_id
  where l.owner_id = $1::int and c.discarded_at is null`

/** Lists the links of a person, the newest first. Values: the person's id, and the slug of a conversation or null for all. */
export const listOwnLinks = statement<OwnLink>(
  'list-own-links',
  `select ${ownColumns} ${ofOwner} and l.ends_at > now() and ($2::text is null or c.slug = $2) order by l.id desc`,
)

/** Values: the person's id, and the address. */
export const findOwnLink = statement<OwnLink>(
  'find-own-link',
  `select ${ownColumns} ${ofOwner} and l.ends_at > now() and l.address = $2`,
)

/** Measures the links of a person, ended ones included until they are deleted. Values: the person's id. */
export const measureLinks = statement<{ count: number; bytes: number }>(
  'measure-shared-links',
  `select count(*)::int as count, coalesce(sum(bytes), 0)::float8 as bytes from ${links} where owner_id = $1::int`,
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

/** Names of files of copies that were deleted; null for a link without a copy. */
interface DeletedCopy {
  uuid: string | null
}

/** Values: ids of rows. */
export const deleteLinks = statement<DeletedCopy>(
  'delete-shared-links',
  `delete from ${links} where id = any($1::int[]) returning uuid`,
)

/** Values: a person's id. */
export const deleteLinksOfOwner = statement<DeletedCopy>(
  'delete-shared-links-of',
  `delete from ${links} where owner_id = $1::int returning uuid`,
)

/** Lists the copies of conversations that are about to be deleted with their links. Values: ids of conversations. */
export const listCopiesOfConversations = statement<{ uuid: string }>(
  'list-copies-of-conversations',
  `select uuid from ${links} where conversation_id = any($1::int[]) and uuid is not null`,
)

/** Deletes links that have ended, and those that never got a copy within an hour. Values: how many at most. */
export const deleteEndedLinks = statement<DeletedCopy>(
  'delete-ended-shared-links',
  `delete from ${links} where id in (
      select id from ${links} where ends_at <= now() or (uuid is null and created_at < now() - interval '1 hour')
      order by id limit $1 for update skip locked)
    returning uuid`,
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

/** Deletes any link. Values: the address. */
export const deleteAnyLink = statement<DeletedCopy & { ownerId: number }>(
  'delete-any-shared-link',
  `delete from ${links} where address = $1 returning uuid, owner_id as "ownerId"`,
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
