import { z } from 'zod'
import { type CallableTool, listToolsForCaller } from '../ai/tools/callable-tools.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import type { JsonSchema } from '../ports/ai/tools.ts'
import { startListChanges } from './list-changes.ts'
import { ownQuestions } from './my-questions.ts'
import { listOffers, toOfferedPrompt, toOfferedResource, toOfferedTemplate } from './offers.ts'
import { findOffers, offered, serverAddress } from './server-address.ts'
import {
  isOfServer,
  promptCall,
  resourceCall,
  startPromptCall,
  startResourceCall,
  startToolCall,
  toolCall,
} from './tool-call.ts'

const offeredTool = z.object({
  name: z.string(),
  title: z.string().optional(),
  description: z.string(),
  inputSchema: z.record(z.string(), z.unknown()).describe('The JSON schema of the arguments.'),
  outputSchema: z.record(z.string(), z.unknown()).optional().describe('The JSON schema of the structured content.'),
  annotations: z.record(z.string(), z.boolean()).optional().describe('What the tool server claims of the tool.'),
})
type OfferedTool = z.output<typeof offeredTool>

const described = { name: z.string(), title: z.string().optional(), description: z.string() }

const offeredPrompt = z.object({
  ...described,
  arguments: z.array(z.object({ name: z.string(), description: z.string().optional(), required: z.boolean() })),
})

const offeredResource = z.object({ uri: z.string(), ...described, mimeType: z.string().optional() })
const offeredTemplate = z.object({ uriTemplate: z.string(), ...described, mimeType: z.string().optional() })

/** The tools of the service for programs that speak MCP. */
export const mcpGatewayRouter = router({
  offers: userWith('mcp')
    .meta(about('Find the tool server of an address, and what there is for the caller beside tools.', offered))
    .input(z.strictObject({ address: serverAddress.optional() }))
    .query(({ ctx, input }) => findOffers(ctx, input.address)),

  listTools: userWith('mcp')
    .meta(about('List the tools that the caller may call, in the order of their names.', z.array(offeredTool)))
    .input(toolCall.pick({ server: true }))
    .query(async ({ ctx, input }) => selectServer(await listToolsForCaller(ctx), input.server).map(toOfferedTool)),

  callTool: userWith('mcp')
    .meta({
      ...about('Call a tool, and stream its progress and its result.'),
      ...withBodySize('tool call'),
      streams: true,
    })
    .input(toolCall)
    .mutation(({ ctx, input }) => startToolCall(ctx, input)),

  listPrompts: userWith('mcp')
    .meta(about('List the prompts that the caller may use, in the order of their names.', z.array(offeredPrompt)))
    .input(toolCall.pick({ server: true }))
    .query(async ({ ctx, input }) => selectServer(await listOffers(ctx, 'prompt'), input.server).map(toOfferedPrompt)),

  getPrompt: userWith('mcp')
    .meta({
      ...about('Get the messages of a prompt, as the end of a stream.'),
      ...withBodySize('tool call'),
      streams: true,
    })
    .input(promptCall)
    .mutation(({ ctx, input }) => startPromptCall(ctx, input)),

  listResources: userWith('mcp')
    .meta(about('List the resources that the caller may read, in the order of their names.', z.array(offeredResource)))
    .input(toolCall.pick({ server: true }))
    .query(async ({ ctx, input }) =>
      selectServer(await listOffers(ctx, 'resource'), input.server).map(toOfferedResource),
    ),

  listResourceTemplates: userWith('mcp')
    .meta(about('List the templates of addresses of resources that the caller may read.', z.array(offeredTemplate)))
    .input(toolCall.pick({ server: true }))
    .query(async ({ ctx, input }) =>
      selectServer(await listOffers(ctx, 'template'), input.server).map(toOfferedTemplate),
    ),

  listChanges: userWith('mcp')
    .meta({ ...about('Stream which lists of the caller have changed.'), streams: true })
    .input(toolCall.pick({ server: true }))
    .mutation(({ ctx, input }) => startListChanges(ctx, input.server)),

  readResource: userWith('mcp')
    .meta({ ...about('Read a resource, as the end of a stream.'), ...withBodySize('tool call'), streams: true })
    .input(resourceCall)
    .mutation(({ ctx, input }) => startResourceCall(ctx, input)),

  ...ownQuestions,
})

/** Returns what one server offers; all without one. */
const selectServer = <T extends CallableTool>(tools: readonly T[], server: number | undefined) =>
  tools.filter((tool) => isOfServer(tool, server))

const toOfferedTool = ({ name, title, description, inputSchema, outputSchema, annotations }: CallableTool) =>
  ({
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: { type: 'object', ...withoutHeaders(inputSchema) },
    // Clients of earlier revisions take objects alone.
    ...(outputSchema?.['type'] === 'object' && { outputSchema }),
    ...(annotations && { annotations }),
  }) satisfies OfferedTool

/** Annotation of a schema by which clients would repeat an argument in a header, which only its own server compares. */
const HEADER_ANNOTATION = 'x-mcp-header'

const withoutHeaders = (schema: JsonSchema): JsonSchema =>
  JSON.stringify(schema).includes(HEADER_ANNOTATION) ? (removeHeaders(schema) as JsonSchema) : schema

/** Removes the annotation at every level; an argument of the same name is no text, and stays. */
function removeHeaders(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeHeaders)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(
    ([name, member]) => name !== HEADER_ANNOTATION || typeof member !== 'string',
  )
  return Object.fromEntries(members.map(([name, member]) => [name, removeHeaders(member)]))
}
