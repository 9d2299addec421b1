import { z } from 'zod'
import type { FunctionTool, JsonSchema } from './tools.ts'

/** Making them takes longer than the rest of a call. */
const made = new WeakMap<z.ZodType, JsonSchema>()

/** The arguments of a tool as a model is told them. */
export function toJsonSchema({ schema, input }: FunctionTool): JsonSchema {
  const known = schema ?? made.get(input)
  if (known) return known
  const written = z.toJSONSchema(input, { target: 'draft-7', io: 'input' })
  made.set(input, written)
  return written
}
