import { createHash } from 'node:crypto'
import type { Vault } from '../ports/vault.ts'

interface OpenSecret {
  text?: string
  /** No application key opens it any more, so the file's takes its place. */
  lost?: boolean
}

export function openSecret(vault: Vault, sealed: string | null | undefined, purpose: string): OpenSecret {
  if (!sealed) return {}
  try {
    return { text: vault.open(sealed, purpose) }
  } catch {
    return { lost: true }
  }
}

/** What stands for a secret in the values of the last synchronisation. */
export const digest = (secret: string | undefined) =>
  secret ? createHash('sha256').update(secret).digest('hex') : null
