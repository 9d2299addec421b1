import { z } from 'zod'
import { toText } from '../../routers/ports/ai/model-result.ts'
import type { ContentPart } from '../../routers/ports/ai/tool-servers.ts'

/** A member that nobody needs; it is left out if it does not fit. */
const optional = <T extends z.ZodType>(schema: T) => schema.optional().catch(undefined)

const annotations = z.object({
  audience: z.array(z.enum(['user', 'assistant'])).optional(),
  priority: z.number().min(0).max(1).optional(),
  lastModified: z.iso.datetime({ offset: true }).optional(),
})

/** Decodes as the clients of programs do, which forgive line breaks and missing padding. */
const base64 = z.string().refine((text) => {
  try {
    atob(text)
    return true
  } catch {
    return false
  }
})

const buildPart = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.looseObject({ type: z.literal(type), ...shape, annotations: optional(annotations) })

const resource = { uri: z.string(), mimeType: optional(z.string()) }

/** The types of content that the protocol has, on which the clients of programs insist. */
const knownPart = z.discriminatedUnion('type', [
  buildPart('text', { text: z.string() }),
  buildPart('image', { data: base64, mimeType: z.string() }),
  buildPart('audio', { data: base64, mimeType: z.string() }),
  buildPart('resource_link', {
    ...resource,
    name: z.string(),
    title: optional(z.string()),
    description: optional(z.string()),
    size: optional(z.number()),
  }),
  buildPart('resource', {
    resource: z.union([z.looseObject({ ...resource, text: z.string() }), z.looseObject({ ...resource, blob: base64 })]),
  }),
])

/**
 * Returns a part as the protocol has it. One that does not fit becomes a text: the call has run, and a program that got
 * an error would repeat it.
 */
export function toKnownPart(part: ContentPart): ContentPart {
  const { data } = knownPart.safeParse(part)
  return data ?? { type: 'text', text: toText(part) }
}
