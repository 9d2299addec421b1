import { expect, test } from 'vitest'
import type { z } from 'zod'
import { attackable, type Definition, definitionOf, procedures, schemas, walkSchema } from '../../kit/inputs/schemas.ts'

const nodes = schemas.flatMap(({ name, schema }) =>
  [...walkSchema(schema)].map(({ path, schema }) => ({ place: name + path, schema, definition: definitionOf(schema) })),
)

const isMaximum = ({ check, maximum, length }: { check: string; maximum?: number; length?: number }) =>
  (check === 'max_length' && maximum !== undefined) || (check === 'length_equals' && length !== undefined)

const checksOf = ({ checks = [] }: Definition) => checks.map(({ _zod }) => _zod.def)

/** zod checks the number of elements before any element only if the maximum precedes a transform of the list. */
const isCounted = (definition: Definition) => {
  const checks = checksOf(definition)
  const rewriting = checks.findIndex(({ check }) => !/_length$|_equals$/.test(check))
  return checks.slice(0, rewriting === -1 ? checks.length : rewriting).some(isMaximum)
}

/** A pattern of bounded length: without star, plus or open range. */
const hasAnEnd = ({ source }: RegExp) =>
  /^\^.*\$$/.test(source) && !/[*+]|\{\d+,\}/.test(source.replace(/\\./g, '').replace(/\[[^\]]*\]/g, ''))

const patternsOf = (schema: z.ZodType): RegExp[] =>
  [
    definitionOf(schema).pattern,
    ...checksOf(definitionOf(schema)).map((check) => (check as { pattern?: RegExp }).pattern),
  ].flatMap((pattern) => (pattern ? [pattern] : []))

const isBoundedText = (schema: z.ZodType) =>
  checksOf(definitionOf(schema)).some(isMaximum) || patternsOf(schema).some(hasAnEnd)

test('a procedure that streams takes what one takes that answers at once', () => {
  const streams = procedures.filter(({ streams }) => streams)

  expect(streams.map(({ name }) => name)).toEqual([
    'ai.stream',
    'ai.completeStream',
    'mcpGateway.callTool',
    'mcpGateway.getPrompt',
    'mcpGateway.listChanges',
    'mcpGateway.readResource',
  ])
  const isSame = (twin: z.ZodType | undefined, schema: z.ZodType | undefined) => {
    if (twin === schema) return true
    const [shape, own] = [twin, schema].map((one) => one && (definitionOf(one) as { shape?: object }).shape)
    // A stream may also request approvals of tool calls, and take a reservation over, whose form is bounded.
    const { mayAsk: _, reservation: __, ...others } = (own ?? {}) as Record<string, unknown>
    return (
      shape !== undefined && Object.entries(others).every(([name, member]) => (shape as typeof others)[name] === member)
    )
  }
  // Requests to tool servers have no counterpart that answers at once.
  for (const { inputs } of streams.filter(({ name }) => !name.startsWith('mcpGateway.')))
    expect(attackable.some((twin) => twin.inputs.every((schema, n) => isSame(schema, inputs[n])))).toBe(true)
})

test('every list in an input has a maximum that is checked before its elements', () => {
  const lists = nodes.filter(({ definition }) => definition.type === 'array')

  expect(lists.length).toBeGreaterThan(20)
  expect(lists.filter(({ definition }) => !isCounted(definition)).map(({ place }) => place)).toEqual([])
})

test('every text that a procedure takes has a maximum length', () => {
  const texts = nodes.filter(({ definition }) => definition.type === 'string')

  expect(texts.length).toBeGreaterThan(50)
  expect(texts.filter(({ schema }) => !isBoundedText(schema)).map(({ place }) => place)).toEqual([])
})

test('only listed inputs accept free JSON, and it is bounded', () => {
  const free = nodes
    .filter(({ definition: { type } }) => ['lazy', 'any', 'unknown', 'map', 'set'].includes(type))
    // The relation's own schema, which is in the list, too, validates what `related` accepts beside the relation.
    .filter(({ place }) => !place.endsWith('.related[]'))

  expect([...new Set(free.map(({ place }) => place))].sort()).toEqual([
    'ai.complete.format.schema[]',
    'ai.complete.parameters.templateOptions[]',
    'ai.complete.tools[].inputSchema[]',
    'ai.completeStream.format.schema[]',
    'ai.completeStream.parameters.templateOptions[]',
    'ai.completeStream.tools[].inputSchema[]',
    'ai.countTokens.format.schema[]',
    'ai.countTokens.parameters.templateOptions[]',
    'ai.countTokens.tools[].inputSchema[]',
    'ai.reserve.format.schema[]',
    'ai.reserve.parameters.templateOptions[]',
    'ai.reserve.tools[].inputSchema[]',
    'aiModels.create.parameters[]',
    'aiModels.update.parameters[]',
    'aiProviders.create.settings.parameters[]',
    'aiProviders.update.settings.parameters[]',
    'conversations.sendMessage.metadata.citations',
    'conversations.sendMessage.metadata.params',
    'conversations.sendMessage.metadata.tools',
    'conversations.updateMessage.metadata.citations',
    'conversations.updateMessage.metadata.params',
    'conversations.updateMessage.metadata.tools',
    'mcp.tryTool.input[]',
    'mcpGateway.callTool.arguments[]',
    'mcpServers.create.additionalConfig[]',
    'mcpServers.update.additionalConfig[]',
    'rooms.ask.parameters.templateOptions[]',
  ])
})
