import { z } from 'zod'
import { ASSISTANT_STARTER, type Vault } from '../ports/vault.ts'
import { type IdFormat, LAST_ROW } from '../resource/ids.ts'

/** A question to begin with, as a record of its own. */
export interface Starter {
  id: string
  text: string
}

const format = /^([1-9]\d{0,9})-[0-9a-f]{16}$/

/** Returns the id of the assistant in the id of a starter. */
export const readAssistantId = (id: string): number => Number(format.exec(id)?.[1])

/**
 * Ids of starters: that of the assistant, and a keyed hash of the text. So an id stays the same whatever becomes of other
 * starters, and tells nothing about the text to those who do not read it.
 */
export const starterIds: IdFormat['schema'] = z
  .string()
  .regex(format, { error: 'must be the id of a record', abort: true })
  .refine((id) => readAssistantId(id) <= LAST_ROW, 'must be the id of a record')

/** Returns the different starters of an assistant in their order. */
export const toStarters = (vault: Vault, assistant: string, texts: readonly string[]): Starter[] =>
  [...new Set(texts)].map((text) => ({ id: buildIds(vault, assistant, text)[0] as string, text }))

/** Returns the ids of a starter under the application key and its earlier ones. */
export const buildIds = (vault: Vault, assistant: string, text: string): string[] =>
  vault
    .computeMacs(`${assistant}\n${text}`, ASSISTANT_STARTER)
    .map((mac) => `${assistant}-${mac.toString('hex').slice(0, 16)}`)
