import { z } from 'zod'
import type { JsonFormat } from '../../ports/ai/models.ts'
import type { CallerTool, JsonSchema, ToolChoice } from '../../ports/ai/tools.ts'
import { toolName } from './parts.ts'

const MAX_TOOLS = 256
const MAX_DESCRIPTION = 20_000
/** Characters of a schema as JSON; those of all tools together. */
const MAX_SCHEMA = 100_000
const MAX_ALL_TOOLS = 1_000_000

const schema: z.ZodType<JsonSchema> = z
  .record(z.string(), z.json())
  .refine((value) => JSON.stringify(value).length <= MAX_SCHEMA, `must have at most ${MAX_SCHEMA} characters as JSON`)

const tool = z.strictObject({
  name: toolName,
  description: z.string().max(MAX_DESCRIPTION).optional(),
  inputSchema: schema.describe('The JSON schema of the arguments.'),
  strict: z.boolean().optional(),
}) satisfies z.ZodType<CallerTool>

export const callerTools = z
  .array(tool)
  .max(MAX_TOOLS, `must be at most ${MAX_TOOLS} tools`)
  .refine((tools) => JSON.stringify(tools).length <= MAX_ALL_TOOLS, {
    error: `must have at most ${MAX_ALL_TOOLS} characters as JSON`,
  })
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'must have different names')

export const toolChoice = z.union([
  z.enum(['auto', 'required', 'none']),
  z.strictObject({ name: toolName }),
]) satisfies z.ZodType<ToolChoice>

export const jsonFormat = z.strictObject({
  name: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must have 1 to 64 letters, digits, _ and -')
    .optional(),
  description: z.string().max(MAX_DESCRIPTION).optional(),
  schema: schema.optional(),
  strict: z.boolean().optional(),
}) satisfies z.ZodType<JsonFormat>
