import { z } from 'zod'
import type { CacheMark } from '../../routers/ports/ai/messages.ts'
import { hint } from './members.ts'
import { definedOnly } from './request-body.ts'

/** Marks the end of what the provider may cache, in the words of Anthropic. */
export const cacheControl = hint(
  z.looseObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).nullish() }).nullish(),
  'it reaches models of Anthropic, as others cache by themselves; the last four of a request count',
)

/** Reads the mark of a block, if it has one, as the member of a part. */
export function readCacheMark(block: object): { cache?: CacheMark } {
  const { cache_control: control } = block as { cache_control?: z.output<typeof cacheControl> }
  return control ? { cache: definedOnly({ ttl: control.ttl ?? undefined }) } : {}
}

/** Finds the first mark of these blocks, for a result whose provider takes one mark for all of it. */
export const findCacheMark = (blocks: readonly object[]): { cache?: CacheMark } =>
  blocks.map(readCacheMark).find(({ cache }) => cache) ?? {}

/** Marks the last part of a block that has a mark. */
export function withCacheMark<Part extends object>(block: object, parts: readonly Part[]): Part[] {
  const { cache } = readCacheMark(block)
  return parts.map((part, index) => (cache && index === parts.length - 1 ? { ...part, cache } : part))
}
