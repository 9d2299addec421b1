import { listCallableOffers } from '../../entities/catalogue/ai-tool.sql.ts'
import type { ToolKind } from '../../entities/catalogue/ai-tool.ts'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import { findCallablePrompt, findCallableResources, type ResourceRow } from '../../entities/views/called-tool.sql.ts'
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

/**
 * Finds a resource for the caller by its address here: itself, or the first template that fits. Where the server names the
 * resource by itself, no template opens what is closed there.
 */
export async function findResource(ctx: ChatContext, address: string): Promise<FoundResource | undefined> {
  const parsed = parseResourceAddress(address)
  if (!parsed) return undefined
  const { server, path, original } = parsed
  const rows = await ctx.services.sql(findCallableResources, [server, original])
  const named = rows.find(isResource)
  if (named) return toFoundResource(ctx, named, original)
  const found = expandFirst(ctx, rows, path)
  if (!found || found.original === original) return found
  // The values of a template stay as they are written, so it may give another address, which may be named, too.
  const others = await ctx.services.sql(findCallableResources, [server, found.original])
  const other = others.find(isResource)
  return other ? toFoundResource(ctx, other, found.original) : found
}

type FoundRow = DeepReadonly<ResourceRow>

const isResource = ({ tool }: FoundRow) => tool.mcp?.kind === 'resource'

/** Returns what the first template gives that fits a path. */
function expandFirst(ctx: ChatContext, templates: readonly FoundRow[], path: string): FoundResource | undefined {
  for (const template of templates) {
    const original = expandTemplate(template.tool.mcp?.name ?? '', path)
    const found = original === undefined ? undefined : toFoundResource(ctx, template, original)
    if (found) return found
  }
  return undefined
}

/** Returns undefined for a resource that is closed to the caller. */
function toFoundResource(
  ctx: ChatContext,
  { tool, limitVersion, isCallable }: FoundRow,
  original: string,
): FoundResource | undefined {
  const offer = isCallable ? toToolOfPrograms(ctx, tool) : undefined
  if (!isOffer(offer)) return undefined
  ctx.services.ai.toolLimits.noteVersion(limitVersion)
  return { offer, original }
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
