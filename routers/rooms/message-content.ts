import { z } from 'zod'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** The upper bound of the size settings. */
export const MAX_CONTENT = 256 * 1024

const base64 = '[A-Za-z0-9+/]+={0,2}'

/** A ciphertext, as browsers write it. */
export const sealedText = z
  .string()
  .regex(new RegExp(`^${base64}\\|${base64}\\|${base64}$`), { error: 'must be iv|tag|ciphertext, each in base64' })

/** The ciphertext of a message. */
export const content = sealedText.max(MAX_CONTENT).describe('`iv|tag|ciphertext`, each in base64.')

export const keyEpoch = z.int().min(0).max(1_000_000).describe('The number of the key that decrypts the content.')

export const createMissingContentProblem = () =>
  new Problem('invalid', { issues: [{ path: ['content'], message: 'is required' }] })

/** Throws if a text is larger than the settings allow. */
export function assertContentFits(
  { services }: Context,
  message: Record<string, unknown>,
  messageSize = services.settings.messageSize,
): void {
  const text = message['content']
  if (typeof text !== 'string' || text.length <= messageSize) return
  throw new Problem('invalid', {
    issues: [{ path: ['content'], message: `must have at most ${messageSize} characters` }],
  })
}
