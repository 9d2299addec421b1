import { z } from 'zod'
import type { CallerTool, JsonSchema } from '../../routers/ports/ai/tools.ts'

/** What a tool without a schema takes: any text, or one of a grammar. */
const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.object({
    type: z.literal('grammar'),
    syntax: z.string().nullish(),
    definition: z.string().nullish(),
    grammar: z.strictObject({ syntax: z.string(), definition: z.string() }).nullish(),
  }),
])

export const customTool = {
  name: z.string(),
  description: z.string().nullish(),
  format: format.nullish(),
}
type CustomTool = z.output<z.ZodObject<typeof customTool>>

const inputSchema: JsonSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

/** A custom tool as a function of one text. Providers are not told the grammar in words of their own, so the model reads it. */
export function customFunction({ name, description, format }: CustomTool): CallerTool {
  const grammar = format?.type === 'grammar' ? (format.grammar ?? format) : undefined
  const rule = grammar?.definition
    ? `The text in \`input\` must follow this grammar (${grammar.syntax ?? 'lark'}):\n${grammar.definition}`
    : undefined
  const told = [description, rule].filter(Boolean).join('\n\n')
  return { name, inputSchema, ...(told && { description: told }) }
}

/** The text that a model calls a custom tool with; what is not the object that it was told to write is the text itself. */
export function customInput(written: string): string {
  try {
    const { input } = JSON.parse(written) as { input?: unknown }
    return typeof input === 'string' ? input : written
  } catch {
    return written
  }
}

/** The arguments of the function for a text. */
export const customArguments = (input: string): string => JSON.stringify({ input })
