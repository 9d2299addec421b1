import { listCallableOffers } from '../../entities/catalogue/ai-tool.sql.ts'
import type { ToolKind } from '../../entities/catalogue/ai-tool.ts'
import { findCallablePrompt, findCallableResources } from '../../entities/views/called-tool.sql.ts'
import type { ChatContext } from '../ai/chat-context.ts'
import { type CallableTool, toToolOfPrograms } from '../ai/tools/callable-tools.ts'
import {
  expandTemplate,
  parseResourceAddress,
  toResourceAddress,
  toTemplateAddress,
} from '../ports/ai/resource-address.ts'

/** A prompt, a resource or a template that the caller may use now. It is called as a tool of its server is. */
export type Offer = CallableTool & { target: Extract<CallableTool['target'], { server: object }> }

const isOffer = (tool: CallableTool | undefined): tool is Offer => tool !== undefined && 'server' in tool.target

/** Lists what the caller's programs may use of a kind, in the order of the names. */
export async function listOffers(ctx: ChatContext, kind: Exclude<ToolKind, 'tool'>): Promise<Offer[]> {
  const rows = await ctx.services.sql(listCallableOffers, [kind])
  return rows.map(({ tool }) => toToolOfPrograms(ctx, tool)).filter(isOffer)
}

/** Finds a prompt for the caller. One that is closed to the caller counts as missing. */
export async function findPrompt(ctx: ChatContext, name: string): Promise<Offer | undefined> {
  const [row] = await ctx.services.sql(findCallablePrompt, [name])
  if (!row) return undefined
  ctx.services.ai.toolLimits.noteVersion(row.limitVersion)
  const prompt = toToolOfPrograms(ctx, row.tool)
  return isOffer(prompt) ? prompt : undefined
}

/** A resource, or a template that gives its address. */
export interface FoundResource {
  offer: Offer
  /** The address of the resource at its server. */
  original: string
}

/** Finds a resource for the caller by its address here: itself, or the first template that fits. */
export async function findResource(ctx: ChatContext, address: string): Promise<FoundResource | undefined> {
  const parsed = parseResourceAddress(address)
  if (!parsed) return undefined
  const rows = await ctx.services.sql(findCallableResources, [parsed.server, parsed.original])
  for (const { tool, limitVersion } of rows) {
    const offer = toToolOfPrograms(ctx, tool)
    const original = tool.mcp?.kind === 'template' ? expandTemplate(tool.mcp.name, parsed.path) : parsed.original
    if (original === undefined || !isOffer(offer)) continue
    ctx.services.ai.toolLimits.noteVersion(limitVersion)
    return { offer, original }
  }
  return undefined
}

export function toOfferedPrompt({ name, title, description, inputSchema, target }: Offer) {
  const { properties = {}, required = [] } = inputSchema as {
    properties?: Record<string, { description?: string }>
    required?: string[]
  }
  return {
    name,
    ...(title !== undefined && { title }),
    description,
    arguments: (target.server.definition.argumentNames ?? []).map((argument) => ({
      name: argument,
      ...(properties[argument]?.description !== undefined && { description: properties[argument].description }),
      required: required.includes(argument),
    })),
  }
}

/** Describes a resource or a template, without its address. */
const describeResource = ({ name, title, description, target }: Offer) => ({
  name,
  ...(title !== undefined && { title }),
  description,
  ...(target.server.definition.mimeType && { mimeType: target.server.definition.mimeType }),
})

export const toOfferedResource = (offer: Offer) => ({
  uri: toResourceAddress(offer.target.server.server.id, offer.target.server.name),
  ...describeResource(offer),
})

export const toOfferedTemplate = (offer: Offer) => ({
  uriTemplate: toTemplateAddress(offer.target.server.server.id, offer.target.server.name),
  ...describeResource(offer),
})
