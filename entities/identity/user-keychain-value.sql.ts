import { statement } from '../sql/statement.ts'

/** Values: the owner's id and the entries as JSON. */
export const upsertKeychainValues = statement<never>(
  'upsert-keychain-values',
  `insert into user_keychain_values (user_id, key, key_type, value)
  select $1, key, "keyType", value from jsonb_to_recordset($2::jsonb) as entry(key text, "keyType" text, value text)
  on conflict (user_id, key, key_type) do update set value = excluded.value, updated_at = now()`,
)

/** Values: the owner's id and the slots as JSON. */
export const deleteKeychainValues = statement<never>(
  'delete-keychain-values',
  `delete from user_keychain_values where user_id = $1
  and (key, key_type) in (select key, "keyType" from jsonb_to_recordset($2::jsonb) as slot(key text, "keyType" text))`,
)

/** Replaces values by others, found by the tag within them. Values: the owner's id and the entries as JSON. */
export const replaceKeychainValues = statement<{ replaced: number }>(
  'replace-keychain-values',
  `with replaced as (
    update user_keychain_values v set value = entry.value, updated_at = now()
      from jsonb_to_recordset($2::jsonb) as entry(key text, "keyType" text, value text, replaces text)
     where v.user_id = $1 and v.key = entry.key and v.key_type = entry."keyType"
       and split_part(v.value, '|', 2) = entry.replaces
    returning 1
  )
  select count(*)::int as replaced from replaced`,
)

export interface KeychainState {
  entries: number
  bytes: number
  /** Number of different wrappings; 1 unless entries of different passkeys or salts are mixed. */
  wrappings: number
  /** Number of entries in another wrapping than the one by which a passkey is verified, so that nothing opens them. */
  strayEntries: number
  /** True if the salted form wraps the entry by which a passkey is verified. */
  isSalted: boolean
}

/** The wrapping of a value: the salted form has 28 more characters in front of the 16 of its IV. */
const wrapping = `case when substr(value, 45, 1) = '|' and position('|' in left(value, 44)) = 0 then left(value, 28) else '' end`

/** Measures a keychain; PostgreSQL knows the length of a long value without reading it. Values: the owner's id. */
export const measureKeychain = statement<KeychainState>(
  'measure-keychain',
  `with entry as materialized (
    select key_type, octet_length(key) + octet_length(value) as bytes, ${wrapping} as wrapping
      from user_keychain_values where user_id = $1
  )
  select count(*)::int as entries, coalesce(sum(bytes), 0)::int as bytes, count(distinct wrapping)::int as wrappings,
    count(*) filter (where wrapping <> (select min(wrapping) from entry where key_type = 'public_key'))::int as "strayEntries",
    coalesce(bool_or(key_type = 'public_key' and wrapping <> ''), false) as "isSalted"
  from entry`,
)

/**
 * Selects the entry that only the right passkey decrypts, and the public key that it must contain. Values: the owner's
 * id.
 */
export const findValidator = statement<{ id: string; publicKey: string | null }>(
  'find-validator',
  `select v.id::text as id, u.public_key as "publicKey"
     from user_keychain_values v join users u on u.id = v.user_id
    where v.user_id = $1 and v.key_type = 'public_key' order by v.id limit 1`,
)

/** Values: the owner's id. */
export const lockPublicKey = statement<{ publicKey: string | null }>(
  'lock-public-key',
  `select public_key as "publicKey" from users where id = $1 for no key update`,
)
