import { z } from 'zod'

const MAX_CIPHERTEXT = 128 * 1024

/** A description or system prompt, as a browser has encrypted it. */
export const roomText = z.string().max(MAX_CIPHERTEXT)
