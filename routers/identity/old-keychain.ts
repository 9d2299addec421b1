import { z } from 'zod'
import { findOldKeychain } from '../../entities/identity/frontend-migration.sql.ts'
import type { Context } from '../core/context.ts'
import { USERDATA } from '../ports/vault.ts'

/** Splits the one blob that a keychain was into its entries; until a browser has done so, the passkey is tried on the blob. */
const KEYCHAIN_MIGRATION = '2026_06_07_215609_after_passkey_upgrade_to_user_keychain_values'

const userdata = z.object({ blob: z.string().min(1) })

/** The keychain of somebody for whom that migration is pending, as their browser has encrypted it, with their public key. */
export async function oldKeychainOf(ctx: Context, userId: number) {
  const [found] = await ctx.services.sql(findOldKeychain, [userId, KEYCHAIN_MIGRATION])
  if (!found) return undefined
  const kept = userdata.safeParse(JSON.parse(ctx.services.vault.open(found.data, USERDATA)))
  return kept.success ? { publicKey: found.publicKey, blob: kept.data.blob } : undefined
}
