import { statement } from './sql.ts'

/** Values: the owner's id and, beside each other, keys, types and values. */
export const upsertKeychainValues = statement<never>(
  'upsert-keychain-values',
  `insert into user_keychain_values (user_id, key, key_type, value)
   select $1, entry.key, entry.key_type, entry.value from unnest($2::text[], $3::text[], $4::text[]) as entry(key, key_type, value)
   on conflict (user_id, key, key_type) do update set value = excluded.value, updated_at = now()`,
)

/** Values: the owner's id and, beside each other, keys and types. */
export const deleteKeychainValues = statement<never>(
  'delete-keychain-values',
  `delete from user_keychain_values where user_id = $1
      and (key, key_type) in (select * from unnest($2::text[], $3::text[]))`,
)

/** Values: the owner's id. The entry that only the right passkey opens, and the clear key that it must hold. */
export const findValidator = statement<{ id: string; publicKey: string | null }>(
  'find-validator',
  `select v.id::text as id, u.public_key as "publicKey"
     from user_keychain_values v join users u on u.id = v.user_id
    where v.user_id = $1 and v.key_type = 'public_key' order by v.id limit 1`,
)
