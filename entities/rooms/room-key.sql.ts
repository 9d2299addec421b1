import { User } from '../identity/user.ts'
import { UserKeychainValue } from '../identity/user-keychain-value.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import type { WithdrawnInvitation } from './room-member.sql.ts'
import { isPerson } from './room-member.ts'

/** Marks rooms as needing a new key; returns those that were not marked yet. Values: ids of rooms. */
export const requireRekey = statement<{ id: number }>(
  'require-rekey',
  `update rooms set rekey_required_since = now(), updated_at = now()
  where id = any($1::int[]) and rekey_required_since is null returning id`,
)

/** Marks a room as needing a new key, because a former member has its keys. Values: the room's id. */
export const requireRekeyAfterRemoval = statement<{ id: number }>(
  'require-rekey-after-removal',
  `update rooms set rekey_required_since = coalesce(rekey_required_since, now()), min_key_epoch = key_epoch + 1,
      updated_at = now()
  where id = $1 and (rekey_required_since is null or min_key_epoch <= key_epoch) returning id`,
)

/** Locks the rooms to which a person belongs or is invited, in the usual order. Values: the person's id. */
export const lockRoomsToRekey = statement<{ id: number; isMember: boolean }>(
  'lock-rooms-to-rekey',
  `select r.id, m.state = 'member' as "isMember" from rooms r join room_members m on m.room_id = r.id
  where m.user_id = $1 and m.state <> 'removed' order by r.id for no key update of r`,
)

/** Deletes the proofs of a key pair that the person has replaced. Values: the person's id. */
export const deleteKeyProofsOfPerson = statement<never>(
  'delete-key-proofs-of-person',
  `update room_members set key_proof = null, key_proof_epoch = null, keys_changed_at = now()
  where user_id = $1 and state = 'member'`,
)

/** Stores a member's proof; returns true if the room waits for a new key. Values: room, person, proof, its epoch. */
export const storeKeyProof = statement<{ isRekeyRequired: boolean }>(
  'store-key-proof',
  `update room_members m set key_proof = $3, key_proof_epoch = $4 from rooms r
  where r.id = m.room_id and m.room_id = $1 and m.user_id = $2 and m.state = 'member' and $4 <= r.key_epoch
  returning r.rekey_required_since is not null as "isRekeyRequired"`,
)

/** Values: the person's id. */
export const deleteKeysOfPerson = statement<never>('delete-keys-of-person', 'delete from room_keys where user_id = $1')

/** Deletes invitations whose key is wrapped for the person's public key, not for a link. Values: the person's id. */
export const dropInvitationsForKey = statement<WithdrawnInvitation & { room: number }>(
  'drop-invitations-for-key',
  `delete from room_members
  where user_id = $1 and state = 'invited' and strpos(wrapped_key, '|') = 0
  returning id, user_id as "userId", room_id as room`,
)

/**
 * Deletes the room's keys from the keychains of all present, former and invited members: the first is named by the
 * slug, later ones `{slug}:{keyEpoch}`. Listing the names allows the index, because a keychain may contain thousands of
 * rooms. Values: the room's id.
 */
export const deleteKeychainsOfRoom = statement<never>(
  'delete-keychains-of-room',
  `delete from ${UserKeychainValue.tableName} v using room_members m
  where m.room_id = $1 and v.user_id = m.user_id and v.key_type in ('room_key', 'room_ai', 'room_ai_legacy')
    and v.key = any(array(
      select case epoch when 0 then slug else slug || ':' || epoch end
        from rooms r, generate_series(0, r.key_epoch) epoch where r.id = $1))`,
)

/** A member who is a person; without a public key they cannot receive room keys. */
export interface KeyedMember {
  id: string
  publicKey: string | null
  /** HMAC of the public key with the room key of this number. */
  proof: string | null
  proofEpoch: number | null
  /** True if the member has the current key, as far as the service knows. */
  hasKey: boolean
  keysChangedAt: string | null
}

/** Values: the room's id. */
export const findKeyedMembers = statement<KeyedMember>(
  'find-keyed-members',
  `select u.id::text as id, u.public_key as "publicKey", m.key_proof as proof, m.key_proof_epoch as "proofEpoch",
    ${isoTime('m.keys_changed_at')} as "keysChangedAt",
    exists (select from room_keys k where k.room_id = r.id and k.user_id = u.id and k.epoch = r.key_epoch)
      or m.key_proof_epoch is not distinct from r.key_epoch
      -- Members with the first key may have it in their keychain alone.
      or r.key_epoch = 0 and m.keys_changed_at is null as "hasKey"
  from room_members m join rooms r on r.id = m.room_id join ${User.tableName} u on u.id = m.user_id
  where m.room_id = $1 and ${isPerson('m')} order by u.id`,
)

/** Texts of a room, each encrypted with the key whose number it names. */
export interface RoomTexts {
  roomDescription: string | null
  systemPrompt: string | null
}

/** Values: the room's id. */
export const findRoomTexts = statement<RoomTexts>(
  'find-room-texts',
  `select room_description as "roomDescription", system_prompt as "systemPrompt"
  from rooms where id = $1`,
)

/**
 * Starts a key epoch. Values: room, epoch, previous key, the re-encrypted texts, and true if some members did not get
 * the key.
 */
export const beginKeyEpoch = statement<never>(
  'begin-key-epoch',
  `with begun as (
    insert into room_key_epochs (room_id, epoch, previous_key) values ($1, $2, $3) returning room_id, epoch, started_at
  )
  update rooms r set key_epoch = b.epoch, key_epoch_since = b.started_at, rekey_required_since = case when $6 then now() end,
      updated_at = now(),
      room_description = coalesce($4, r.room_description), system_prompt = coalesce($5, r.system_prompt)
    from begun b where r.id = b.room_id`,
)

/** Stores the keys of members, with the proofs of their public keys. Values: room, epoch, and the keys as JSON. */
export const storeWrappedKeys = statement<never>(
  'store-wrapped-keys',
  `with given as (
    select * from jsonb_to_recordset($3::jsonb) as k ("user" int, "wrappedKey" text, proof text)
  ), proven as (
    update room_members m set key_proof = g.proof, key_proof_epoch = $2 from given g
    where m.room_id = $1 and m.user_id = g."user" and m.state = 'member' and g.proof is not null
  )
  insert into room_keys (room_id, epoch, user_id, wrapped_key) select $1, $2, "user", "wrappedKey" from given`,
)

/** Values: room, person, epoch, wrapped key. */
export const storeWrappedKey = statement<never>(
  'store-wrapped-key',
  `insert into room_keys (room_id, user_id, epoch, wrapped_key) values ($1, $2, $3, $4)
  on conflict (room_id, user_id, epoch) do update set wrapped_key = excluded.wrapped_key`,
)

interface StoredKey {
  keyEpoch: number
  wrappedKey: string | null
  previousKey: string | null
}

/** The keys of a room that a member can open. */
export interface StoredKeys {
  keyEpoch: number
  keys: StoredKey[]
  /** The number of the key that proves the member's own public key. */
  provenEpoch: number | null
  /** Time of the last new key pair of another member. */
  keysChangedAt: string | null
}

/**
 * Finds keys; a previous key older than the member's first key is withheld. Values: the ids of the room and of the
 * person, the epoch after which to begin, and the limit.
 */
export const findStoredKeys = unboundedStatement<StoredKeys>(
  `select r.key_epoch as "keyEpoch", coalesce((select json_agg(k) from (
      select epoch as "keyEpoch", k.wrapped_key as "wrappedKey",
             case when epoch > m.first_key_epoch then e.previous_key end as "previousKey"
        from (select * from room_keys where room_id = r.id and user_id = m.user_id and epoch > $3::int) k
        full join (select * from room_key_epochs where room_id = r.id and epoch > $3::int) e using (epoch)
       where epoch >= m.first_key_epoch
       order by epoch limit $4) k), '[]') as keys, m.key_proof_epoch as "provenEpoch",
      (select ${isoTime('max(o.keys_changed_at)')} from room_members o
        where o.room_id = r.id and o.user_id <> m.user_id and o.state = 'member') as "keysChangedAt"
    from rooms r join room_members m on m.room_id = r.id
   where r.id = $1 and m.user_id = $2 and m.state = 'member'`,
)

/** The current key of a room, and whether all members have had a minute to get it. */
export interface RoomEpoch {
  keyEpoch: number
  /** The first key that no former member has; later than the current one until the room gets a new key. */
  minKeyEpoch: number
  isKeySettled: boolean
}

/** Columns of a room's epoch. */
export const roomEpoch = (room: string) =>
  `${room}.key_epoch as "keyEpoch", ${room}.min_key_epoch as "minKeyEpoch",
    ${room}.key_epoch_since < now() - interval '1 minute' as "isKeySettled"`

/** Values: the id of a room. */
export const findRoomEpoch = statement<RoomEpoch>(
  'find-room-epoch',
  `select ${roomEpoch('r')} from rooms r where r.id = $1`,
)

/** Values: the id of a message. */
export const findEpochOfRoom = statement<RoomEpoch & { given: number }>(
  'find-epoch-of-room',
  `select m.key_epoch as given, ${roomEpoch('r')}
  from room_messages m join rooms r on r.id = m.room_id where m.id = $1`,
)
