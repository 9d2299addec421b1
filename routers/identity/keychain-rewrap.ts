import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { replaceKeychainValues } from '../../entities/identity/user-keychain-value.sql.ts'
import { Problem } from '../core/problems.ts'
import { runForOneRow } from '../core/run-statement.ts'
import type { KeychainQuota } from '../core/settings.ts'
import { enforceQuota, entryShape, hasDistinctSlots, readKeychainState } from './keychain.ts'

/** The largest quota that can be set. */
const MAX_ENTRIES = 10_000

/** The salted form writes as many characters in front of each value. */
const WRAPPING_LENGTH = 28

const entry = z.strictObject({
  ...entryShape,
  replaces: z.string().min(1).max(255).describe('The second part of the value that this one replaces.'),
})

/** Checks the length before the elements, because validating thousands of wrong ones would block other requests. */
const countFirst = z.transform((input: z.input<typeof entry>[], context) => {
  if (Array.isArray(input) && input.length > MAX_ENTRIES)
    context.addIssue({ code: 'custom', message: `must have at most ${MAX_ENTRIES} elements` })
  return input
})

/** All entries of a keychain in another wrapping. */
export const rewrappedEntries = countFirst.pipe(
  z.array(entry).min(2).max(MAX_ENTRIES).refine(hasDistinctSlots, 'must not have two entries of one key and type'),
)

/**
 * Replaces all values of a keychain within a transaction that has locked the person's row. Throws if an entry was
 * added, removed or changed since the browser read them.
 */
export async function replaceAllEntries(
  em: EntityManager,
  userId: number,
  entries: z.output<typeof rewrappedEntries>,
  { maxEntries, maxBytes }: KeychainQuota,
): Promise<void> {
  // A keychain that was full before stays changeable.
  const quota = { maxEntries, maxBytes: maxBytes + entries.length * WRAPPING_LENGTH }
  await enforceQuota(quota, { em, userId, member: 'entries', mayMix: true }, async () => {
    const before = await readKeychainState(em, userId)
    const { replaced } = await runForOneRow(em, replaceKeychainValues, [userId, JSON.stringify(entries)])
    if (replaced !== entries.length || replaced !== before.entries) throw new Problem('keychain_rewrapped')
  })
}
