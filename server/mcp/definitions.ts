import type { ListToolsResult, MCPClient } from '@ai-sdk/mcp'
import { toObjectSchema } from '../../routers/ports/ai/json-schema.ts'
import { type OfferedTool, type ToolOffer, ToolServerError } from '../../routers/ports/ai/tool-servers.ts'

/** Of one server. */
const MAX_TOOLS = 200
const MAX_PAGES = 50
/** Of one tool. */
const MAX_BYTES = 32 * 1024
const MAX_DEPTH = 16
const MAX_NAME = 128
/** Of those that are refused: more names nobody reads. */
const MAX_REFUSED = 20

type Tool = ListToolsResult['tools'][number]
type Tools = Pick<ToolOffer, 'tools' | 'refused'>

/** Reads all pages of the list. Throws where it has no end; leaves out tools that could do harm by how they are described. */
export async function listTools(client: MCPClient, signal: AbortSignal): Promise<Tools> {
  const listed: Tool[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const params = cursor === undefined ? {} : { params: { cursor } }
    const { tools, nextCursor } = await client.listTools({ ...params, options: { signal } })
    listed.push(...tools)
    if (listed.length > MAX_TOOLS) throw new ToolServerError(`it offers more than ${MAX_TOOLS} tools`)
    if (nextCursor === undefined) return sorted(listed)
    cursor = nextCursor
  }
  throw new ToolServerError(`its list of tools has more than ${MAX_PAGES} pages`)
}

function sorted(listed: readonly Tool[]): Tools {
  const offer: Tools = { tools: [], refused: [] }
  const names = new Set<string>()
  for (const tool of listed) {
    const name = visible(tool.name).slice(0, MAX_NAME)
    const reason = names.has(tool.name) ? 'there are two of this name' : reasonAgainst(tool)
    names.add(tool.name)
    if (reason === undefined) offer.tools.push(asOffered(tool))
    else if (offer.refused.length < MAX_REFUSED) offer.refused.push({ name, reason })
  }
  return offer
}

function reasonAgainst(tool: Tool): string | undefined {
  const { name, description = '', inputSchema } = tool
  if (name.length > MAX_NAME || name !== visible(name)) return 'its name is too long, or has invisible characters'
  // The depth goes first: what is too deep cannot be written as JSON either.
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

/** Said by the server about itself; what it means is for an administrator to judge. */
const CAPABILITY = 'svcCapability'

function asOffered({ name, description = '', inputSchema, _meta, ...more }: Tool): OfferedTool {
  const capability = (more as Record<string, unknown>)[CAPABILITY] ?? _meta?.[CAPABILITY]
  return {
    name,
    description: visible(description),
    inputSchema: visibleIn(inputSchema) as Record<string, unknown>,
    capability: typeof capability === 'string' && isKey(capability) ? capability : null,
  }
}

/** What a reference to a tool can name. */
const isKey = (capability: string) => /^[\w-]{1,80}$/.test(capability)

/** Without what a person who reads it would not see, but a model would: control, format and tag characters. */
const visible = (text: string) => text.replace(/[^\P{C}\n\t]|[\u{e0000}-\u{e0fff}]/gu, '').toWellFormed()

function visibleIn(value: unknown): unknown {
  if (typeof value === 'string') return visible(value)
  if (Array.isArray(value)) return value.map(visibleIn)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [visible(name), visibleIn(member)]))
}

function measureDepth(value: unknown, limit = MAX_DEPTH + 1): number {
  if (typeof value !== 'object' || value === null || limit === 0) return 0
  return 1 + Math.max(0, ...Object.values(value).map((member) => measureDepth(member, limit - 1)))
}
