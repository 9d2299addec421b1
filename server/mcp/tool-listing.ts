import type { ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import type { ServerOffer } from '../../entities/catalogue/mcp-server.ts'
import { toObjectSchema } from '../../routers/ports/ai/json-schema.ts'
import { type ListedTool, type ToolListing, ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import { removeInvisible, removeInvisibleDeep } from './hidden-text.ts'
import { listOffers } from './offer-listing.ts'

/** Limits for one server. */
const MAX_TOOLS = 200
const MAX_PAGES = 50
/** Limits for one tool. */
const MAX_BYTES = 32 * 1024
const MAX_DEPTH = 16
const MAX_NAME = 128
const MAX_TITLE = 200
/** Maximum number of refused tools that are listed. */
const MAX_REFUSED = 20

type Tool = ListToolsResult['tools'][number]
type Tools = Pick<ToolListing, 'tools' | 'rejected'>

/** Reads the tools, and of what a server offers beside them what is taken. */
export async function readListing(
  client: MCPClient,
  offers: readonly ServerOffer[],
  signal: AbortSignal,
): Promise<ToolListing> {
  const { serverInfo, protocolVersion, capabilities } = client.initializeResult
  const hasNoTools = offers.length > 0 && capabilities.tools === undefined
  const listed = hasNoTools ? { tools: [], rejected: [] } : await listTools(client, signal)
  const others = await listOffers(client, offers, signal)
  return {
    version: serverInfo.version.slice(0, 80) || null,
    protocolVersion: protocolVersion.slice(0, 40),
    tools: [...listed.tools, ...others.tools],
    rejected: [...listed.rejected, ...others.rejected].slice(0, MAX_REFUSED),
  }
}

/**
 * Reads all pages of the list, and leaves out tools whose description could do harm. Throws if the list has too many
 * pages.
 */
async function listTools(client: MCPClient, signal: AbortSignal): Promise<Tools> {
  const listed: Tool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } }
    const { tools, nextCursor } = await client.listTools({ ...params, options: { signal } })
    listed.push(...tools)
    if (listed.length > MAX_TOOLS) throw new ToolServerError(`it offers more than ${MAX_TOOLS} tools`)
    if (nextCursor === undefined) return validateTools(listed)
    cursor = nextCursor
  }
  throw new ToolServerError(`its list of tools has more than ${MAX_PAGES} pages`)
}

function validateTools(listed: readonly Tool[]): Tools {
  const listing: Tools = { tools: [], rejected: [] }
  const names = new Set<string>()
  for (const tool of listed) {
    const name = removeInvisible(tool.name).slice(0, MAX_NAME)
    const reason = names.has(tool.name) ? 'there are two of this name' : findObjection(tool)
    names.add(tool.name)
    if (reason === undefined) listing.tools.push(toListedTool(tool))
    else if (listing.rejected.length < MAX_REFUSED) listing.rejected.push({ name, reason })
  }
  return listing
}

function findObjection(tool: Tool): string | undefined {
  const { name, description = '', inputSchema } = tool
  if (name.length > MAX_NAME || name !== removeInvisible(name))
    return 'its name is too long, or has invisible characters'
  // Check the depth first: a value that is too deep cannot be written as JSON.
  if (measureDepth(inputSchema) > MAX_DEPTH) return `its schema is more than ${MAX_DEPTH} levels deep`
  if (Buffer.byteLength(JSON.stringify([description, inputSchema])) > MAX_BYTES)
    return `its description and schema are more than ${MAX_BYTES} bytes`
  try {
    toObjectSchema(inputSchema)
    return undefined
  } catch {
    return 'its schema cannot be checked'
  }
}

/** Member with the capability that a tool claims to have. An administrator judges its meaning. */
const CAPABILITY_MEMBER = 'svcCapability'

function toListedTool({ name, description = '', inputSchema, outputSchema, _meta, ...more }: Tool): ListedTool {
  const { title, annotations } = more as { title?: unknown; annotations?: { title?: unknown } | null }
  const shownTitle = title ?? annotations?.title
  const capability = (more as Record<string, unknown>)[CAPABILITY_MEMBER] ?? _meta?.[CAPABILITY_MEMBER]
  return {
    kind: 'tool',
    name,
    description: removeInvisible(description),
    inputSchema: removeInvisibleDeep(inputSchema) as Record<string, unknown>,
    capability: typeof capability === 'string' && isCapabilityKey(capability) ? capability : null,
    title: typeof shownTitle === 'string' ? removeInvisible(shownTitle).slice(0, MAX_TITLE) || null : null,
    outputSchema: isSmallObject(outputSchema) ? (removeInvisibleDeep(outputSchema) as Record<string, unknown>) : null,
    annotations: toHints(annotations),
  }
}

/** A schema of results only tells callers what to expect, so one that is too large is left out. */
const isSmallObject = (schema: unknown) =>
  typeof schema === 'object' &&
  schema !== null &&
  measureDepth(schema) <= MAX_DEPTH &&
  Buffer.byteLength(JSON.stringify(schema)) <= MAX_BYTES

const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const

/** Returns the hints that the protocol knows; null if there are none. */
function toHints(annotations: object | null | undefined): Record<string, boolean> | null {
  const given = { ...annotations } as Record<string, unknown>
  const known = hints.flatMap((name) => (typeof given[name] === 'boolean' ? [[name, given[name]] as const] : []))
  return known.length > 0 ? Object.fromEntries(known) : null
}

/** Returns true if references to tools can contain the name. */
const isCapabilityKey = (capability: string) => /^[\w-]{1,80}$/.test(capability)

function measureDepth(value: unknown, limit = MAX_DEPTH + 1): number {
  if (typeof value !== 'object' || value === null || limit === 0) return 0
  return 1 + Math.max(0, ...Object.values(value).map((member) => measureDepth(member, limit - 1)))
}
