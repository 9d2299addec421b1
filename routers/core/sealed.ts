import type { z } from 'zod'
import type { Vault } from '../ports/vault.ts'

/** Opens a sealed JSON text; returns undefined if its key is gone, or somebody changed it. */
export function openSealed<Schema extends z.ZodType>(
  vault: Vault,
  sealed: string,
  purpose: string,
  schema: Schema,
): z.output<Schema> | undefined {
  try {
    return schema.parse(JSON.parse(vault.open(sealed, purpose)))
  } catch {
    return undefined
  }
}
