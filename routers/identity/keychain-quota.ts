import type { EntityManager } from '@mikro-orm/postgresql'
import { measureKeychain } from '../../entities/identity/user-keychain-value.sql.ts'
import { Problem } from '../core/problems.ts'
import type { KeychainQuota } from '../core/settings.ts'

/** Where a change is carried out: in a transaction that holds the row of the person. */
export interface KeychainChange {
  em: EntityManager
  userId: number
  /** The member of the input that brings the entries. */
  member: string
}

interface Size {
  entries: number
  bytes: number
}

/** Carries out a change; throws where it leaves a keychain that is larger than before and than it may be. */
export async function withinQuota(
  { maxEntries, maxBytes }: KeychainQuota,
  { em, userId, member }: KeychainChange,
  change: () => Promise<void>,
): Promise<void> {
  const before = await sizeOf(em, userId)
  await change()
  const after = await sizeOf(em, userId)
  const exceeds = (what: keyof Size, limit: number) => after[what] > limit && after[what] > before[what]
  if (exceeds('entries', maxEntries)) throw overQuota(member, `${maxEntries} entries`)
  if (exceeds('bytes', maxBytes)) throw overQuota(member, `${maxBytes} bytes of keys and values`)
}

async function sizeOf(em: EntityManager, userId: number): Promise<Size> {
  const [size] = await em.execute<Size[]>(measureKeychain, [userId])
  return size ?? { entries: 0, bytes: 0 }
}

const overQuota = (member: string, limit: string) =>
  new Problem('invalid', {
    detail: `A keychain has at most ${limit}.`,
    issues: [{ path: [member], message: `would give the keychain more than ${limit}` }],
  })
