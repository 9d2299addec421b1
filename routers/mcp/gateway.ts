import { z } from 'zod'
import type { ChatContext } from '../ai/chat-context.ts'
import { type CallableTool, listToolsForCaller } from '../ai/tools/callable-tools.ts'
import { Problem } from '../core/problems.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import type { JsonSchema } from '../ports/ai/tools.ts'
import { ownQuestions } from './my-questions.ts'
import { listOffers, type Offer, toOfferedPrompt, toOfferedResource, toOfferedTemplate } from './offers.ts'
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

const offeredResources = z.object({
  resources: z.array(z.object({ uri: z.string(), ...described, mimeType: z.string().optional() })),
  templates: z.array(z.object({ uriTemplate: z.string(), ...described, mimeType: z.string().optional() })),
})

/** The tools of the service for programs that speak MCP. */
export const mcpGatewayRouter = router({
  listTools: userWith('mcp')
    .meta(about('List the tools that the caller may call, in the order of their names.', z.array(offeredTool)))
    .input(toolCall.pick({ server: true }))
    .query(({ ctx, input }) => listTools(ctx, input.server)),

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
    .query(async ({ ctx, input }) => selectOffers(await listOffers(ctx, 'prompt'), input.server).map(toOfferedPrompt)),

  getPrompt: userWith('mcp')
    .meta({
      ...about('Get the messages of a prompt, as the end of a stream.'),
      ...withBodySize('tool call'),
      streams: true,
    })
    .input(promptCall)
    .mutation(({ ctx, input }) => startPromptCall(ctx, input)),

  listResources: userWith('mcp')
    .meta(about('List the resources that the caller may read, and the templates of addresses.', offeredResources))
    .input(toolCall.pick({ server: true }))
    .query(async ({ ctx, input }) => {
      const [resources, templates] = await Promise.all([listOffers(ctx, 'resource'), listOffers(ctx, 'template')])
      return {
        resources: selectOffers(resources, input.server).map(toOfferedResource),
        templates: selectOffers(templates, input.server).map(toOfferedTemplate),
      }
    }),

  readResource: userWith('mcp')
    .meta({ ...about('Read a resource, as the end of a stream.'), ...withBodySize('tool call'), streams: true })
    .input(resourceCall)
    .mutation(({ ctx, input }) => startResourceCall(ctx, input)),

  ...ownQuestions,
})

/** Returns what the address of a single server offers; all without one. */
const selectOffers = (offers: readonly Offer[], server: string | undefined) =>
  offers.filter((offer) => server === undefined || isOfServer(offer, server))

async function listTools(ctx: ChatContext, server: string | undefined): Promise<OfferedTool[]> {
  const tools = await listToolsForCaller(ctx)
  if (server === undefined) return tools.map(toOfferedTool)
  const hasTools = tools.some((tool) => isOfServer(tool, server))
  return !hasTools && (await hasOffers(ctx, server)) ? [] : selectServer(tools, server).map(toOfferedTool)
}

/** True if a server offers the caller something beside tools. */
async function hasOffers(ctx: ChatContext, server: string): Promise<boolean> {
  const kinds = await Promise.all((['prompt', 'resource', 'template'] as const).map((kind) => listOffers(ctx, kind)))
  return kinds.flat().some((offer) => isOfServer(offer, server))
}

/** Returns the tools of the one server that the address names. Throws if it names none, or several by one label. */
function selectServer(tools: readonly CallableTool[], name: string): CallableTool[] {
  const named = tools.filter((tool) => isOfServer(tool, name))
  const byServer = Map.groupBy(named, ({ target }) => ('server' in target ? target.server.server.id : 0))
  const byId = byServer.get(Number(name))
  if (byId) return byId
  if (named.length === 0)
    throw new Problem('not_found', { detail: 'There is no tool server of this name with tools for you.' })
  if (byServer.size === 1) return named
  const ids = [...byServer.keys()].sort((one, other) => one - other)
  const addresses = ids.map((id) => `/mcp/${id}`).join(', ')
  throw new Problem('not_found', { detail: `Several tool servers have this name. Use their ids: ${addresses}.` })
}

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
