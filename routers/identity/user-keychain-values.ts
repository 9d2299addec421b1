import { z } from 'zod'
import { findOldKeychain } from '../../entities/identity/frontend-migration.ts'
import { User } from '../../entities/identity/user.ts'
import {
  deleteKeychainValues,
  findValidator,
  lockPublicKey,
  upsertKeychainValues,
} from '../../entities/identity/user-keychain-value.sql.ts'
import { keyTypes, ownRows, UserKeychainValue } from '../../entities/identity/user-keychain-value.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import { USERDATA } from '../ports/vault.ts'
import { attribute, defineResource } from '../resource/declare.ts'
import type { RecordOf } from '../resource/record.ts'
import { action } from '../verbs/action.ts'
import { defineReads, getRow } from '../verbs/read.ts'
import { RowReader } from '../verbs/rows.ts'
import { enforceQuota, hasDistinctSlots, keychainEntry, keychainSlot, MAX_ENTRIES, publicKey } from './keychain.ts'
import { consumeProfileChange } from './users.ts'

export const userKeychainValues = defineResource({
  type: 'user-keychain-values',
  about: "The caller's keys, as their browser encrypted them.",
  entity: UserKeychainValue,
  scope: ownRows,
  attributes: {
    userId: attribute(z.int().describe('The owner of the key, who is always the caller.'), { property: 'user' }),
    key: attribute(
      z
        .string()
        .describe(
          "The name of the key within its type: `privateKey`, `publicKey`, `aiConvKey`, the slug of a room, or `{slug}:{keyEpoch}` for a later key of a room. `pin:{user}` is a digest of another person's public key.",
        ),
    ),
    keyType: attribute(z.enum(keyTypes).describe('The type of the key.')),
    value: attribute(z.string().describe('`iv|tag|ciphertext`, each in base64.')),
  },
})

type Entry = RecordOf<typeof userKeychainValues>

const change = z
  .strictObject({
    clean: z.union([z.boolean(), z.literal([0, 1, '0', '1']).transform((flag) => Number(flag) === 1)]).default(false),
    publicKey: z.union([publicKey, z.literal('')]).optional(),
    set: z.array(keychainEntry).max(MAX_ENTRIES).default([]),
    remove: z.array(keychainSlot).max(MAX_ENTRIES).default([]),
  })
  .refine(({ set }) => hasDistinctSlots(set), { path: ['set'], message: 'names an entry twice' })

/**
 * Checks the length of both lists before their elements, because validating thousands of wrong ones would block other
 * requests.
 */
const batch = z
  .transform((input: z.input<typeof change>, context) => {
    const { set, remove } = Object(input)
    const isTooLong = countItems(set) + countItems(remove) > MAX_ENTRIES
    if (isTooLong) context.addIssue({ code: 'custom', path: ['remove'], message: TOO_MANY })
    return input
  })
  .pipe(change)

const TOO_MANY = `must have, together with set, at most ${MAX_ENTRIES} elements`
const countItems = (list: unknown) => (Array.isArray(list) ? list.length : 0)

export const userKeychainValuesRouter = router({
  ...defineReads(userKeychainValues),

  /** Validates everything first and applies all changes in one transaction. */
  batchUpdate: action(userKeychainValues, 'batch-update', userWith('keychain'))
    .meta({ ...about('Set and remove several keychain values at once.'), ...withBodySize('keychain') })
    .input(batch)
    .mutation(async ({ ctx, input }) => {
      await updateKeychain(ctx, ctx.caller.person.id, input)
      return { data: await listEntries(ctx) }
    }),

  validator: action(userKeychainValues, 'validator', userWith('read'))
    .meta(
      about(
        'Read a value to test a passkey with: an entry of the keychain, or a keychain that is not yet split into entries.',
      ),
    )
    .query(({ ctx }) => readValidator(ctx, ctx.caller.person.id)),
})

interface Validator {
  data: Entry | null
  meta: { publicKey: string | null; validator: string }
}

async function readValidator(ctx: Context, userId: number): Promise<Validator> {
  const [entry] = await ctx.services.sql(findValidator, [userId])
  if (entry) {
    const data = (await getRow(ctx, userKeychainValues, entry.id)) as Entry
    return { data, meta: { publicKey: entry.publicKey, validator: data.value } }
  }
  const oldKeychain = await readOldKeychain(ctx, userId)
  if (!oldKeychain) throw new Problem('not_found', { detail: 'You have not created your keys yet.' })
  return { data: null, meta: { publicKey: oldKeychain.publicKey, validator: oldKeychain.blob } }
}

async function updateKeychain(
  ctx: Context,
  userId: number,
  { clean, publicKey, set, remove }: z.output<typeof batch>,
): Promise<void> {
  await withChangeLog(ctx, async (em, changes) => {
    // The lock serializes browsers of one person. Room locks come before keychain locks everywhere.
    if (publicKey) await changePublicKey(ctx, { userId, em, changes }, publicKey)
    else await runStatement(em, lockPublicKey, [userId])
    await enforceQuota(ctx.services.settings.keychain, { em, userId, member: 'set' }, async () => {
      if (clean) await em.nativeDelete(UserKeychainValue, { user: userId })
      if (set.length > 0) await runStatement(em, upsertKeychainValues, [userId, JSON.stringify(set)])
      if (remove.length > 0) await runStatement(em, deleteKeychainValues, [userId, JSON.stringify(remove)])
    })
  })
}

async function changePublicKey(ctx: Context, person: ChangedPerson, publicKey: string): Promise<void> {
  const { em, userId } = person
  const [user] = await runStatement(em, lockPublicKey, [userId])
  await em.nativeUpdate(User, { id: userId }, { publicKey, updatedAt: new Date() })
  if (publicKey === user?.publicKey) return
  await consumeProfileChange(ctx, userId)
  await ctx.services.process.hooks.emitSerial('user-keys-changed', person)
}

async function listEntries(ctx: Context): Promise<Entry[]> {
  const query = { include: [], sort: [], filters: [] }
  const { items } = await new RowReader(ctx).page(userKeychainValues, query, { number: 1, size: 10_000 })
  return items as Entry[]
}

/**
 * Migration that splits the single blob of a keychain into entries. Until a browser has run it, the passkey is verified
 * against the blob.
 */
const KEYCHAIN_MIGRATION = '2026_06_07_215609_after_passkey_upgrade_to_user_keychain_values'

const userdata = z.object({ blob: z.string().min(1) })

/** Returns the encrypted keychain and the public key of a person whose migration is pending. */
async function readOldKeychain(ctx: Context, userId: number) {
  const [row] = await ctx.services.sql(findOldKeychain, [userId, KEYCHAIN_MIGRATION])
  if (!row) return undefined
  const parsed = userdata.safeParse(JSON.parse(ctx.services.vault.open(row.data, USERDATA)))
  return parsed.success ? { publicKey: row.publicKey, blob: parsed.data.blob } : undefined
}
