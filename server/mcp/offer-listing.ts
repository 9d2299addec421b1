import type { MCPClient } from '@ai-sdk/mcp'
import type { ServerOffer } from '../../entities/catalogue/mcp-server.ts'
import { isReadableTemplate } from '../../routers/ports/ai/resource-address.ts'
import type { ListedTool, ToolListing } from '../../routers/ports/ai/tool-servers.ts'
import { removeInvisible } from './hidden-text.ts'

/** Limits for each kind of one server; what comes after them is left out. */
const MAX_LISTED = 200
const MAX_PAGES = 50
/** Limits for one prompt or resource. */
const MAX_BYTES = 32 * 1024
const MAX_ARGUMENTS = 50
const MAX_NAME = 128
const MAX_TITLE = 200
const MAX_ADDRESS = 1500

type Offers = Pick<ToolListing, 'tools' | 'rejected'>
type Prompt = Awaited<ReturnType<MCPClient['listPrompts']>>['prompts'][number]
interface Resource {
  name: string
  title?: string | undefined
  description?: string | undefined
  mimeType?: string | undefined
}

/** Lists what is taken of a server beside its tools. A server that has none of it offers nothing. */
export async function listOffers(
  client: MCPClient,
  offers: readonly ServerOffer[],
  signal: AbortSignal,
): Promise<Offers> {
  const { capabilities } = client.initializeResult
  const options = { signal }
  const listed: ListedTool[] = []
  if (offers.includes('prompts') && capabilities.prompts) {
    const prompts = await readPages(async (page) => {
      const { prompts, nextCursor } = await client.listPrompts({ ...page, options })
      return { items: prompts, nextCursor }
    })
    listed.push(...prompts.map(toListedPrompt))
  }
  if (offers.includes('resources') && capabilities.resources) {
    const resources = await readPages(async (page) => {
      const { resources, nextCursor } = await client.listResources({ ...page, options })
      return { items: resources, nextCursor }
    })
    const { resourceTemplates } = await client.listResourceTemplates({ options }).catch(takeAsNone)
    listed.push(
      ...resources.map(({ uri, ...resource }) => toListedResource('resource', uri, resource)),
      ...resourceTemplates
        .slice(0, MAX_LISTED)
        .map(({ uriTemplate, ...template }) => toListedResource('template', uriTemplate, template)),
    )
  }
  return validateOffers(listed)
}

const METHOD_NOT_FOUND = -32601

/** A server with resources need not know of templates. */
function takeAsNone(error: unknown): { resourceTemplates: [] } {
  if ((error as { code?: unknown }).code === METHOD_NOT_FOUND) return { resourceTemplates: [] }
  throw error
}

interface Page<Item> {
  items: readonly Item[]
  nextCursor: string | undefined
}

async function readPages<Item>(read: (page: { params?: { cursor: string } }) => Promise<Page<Item>>): Promise<Item[]> {
  const listed: Item[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && listed.length < MAX_LISTED; page++) {
    const { items, nextCursor } = await read(cursor === undefined ? {} : { params: { cursor } })
    listed.push(...items)
    if (nextCursor === undefined) break
    cursor = nextCursor
  }
  return listed.slice(0, MAX_LISTED)
}

function validateOffers(listed: readonly ListedTool[]): Offers {
  const offers: Offers = { tools: [], rejected: [] }
  const seen = new Set<string>()
  for (const offer of listed) {
    const key = `${offer.kind} ${offer.name}`
    if (isPageAddress(offer.name)) continue
    const reason = seen.has(key) ? 'there are two of this name' : findObjection(offer)
    seen.add(key)
    if (reason === undefined) offers.tools.push(offer)
    else offers.rejected.push({ name: removeInvisible(offer.name).slice(0, MAX_NAME), reason })
  }
  return offers
}

function findObjection({ kind, name, argumentNames = [], ...definition }: ListedTool): string | undefined {
  const longest = kind === 'prompt' ? MAX_NAME : MAX_ADDRESS
  const names = [name, ...argumentNames]
  if (name.length > longest || names.some((each) => each.length > MAX_ADDRESS || each !== removeInvisible(each)))
    return 'its name is too long, or has invisible characters'
  if (argumentNames.length > MAX_ARGUMENTS) return `it has more than ${MAX_ARGUMENTS} arguments`
  if (new Set(argumentNames).size < argumentNames.length) return 'two of its arguments have one name'
  if (kind === 'template' && !isReadableTemplate(name)) return 'its address cannot be read as a template'
  return Buffer.byteLength(JSON.stringify(definition)) > MAX_BYTES
    ? `its description and arguments are more than ${MAX_BYTES} bytes`
    : undefined
}

/** True for an address of a page that a server would show in the program. None is passed on. */
export const isPageAddress = (address: string) => /^ui:/i.test(address)

/** A program sends the arguments of a prompt as texts. */
function toListedPrompt({ name, title, description = '', arguments: given = [] }: Prompt): ListedTool {
  const properties = given.map((argument) => [
    argument.name,
    { type: 'string', ...(argument.description && { description: removeInvisible(argument.description) }) },
  ])
  return {
    kind: 'prompt',
    name,
    description: removeInvisible(description),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(properties),
      required: given.flatMap((argument) => (argument.required ? [argument.name] : [])),
      additionalProperties: false,
    },
    argumentNames: given.map((argument) => argument.name),
    capability: null,
    title: toTitle(title),
  }
}

const toListedResource = (
  kind: 'resource' | 'template',
  address: string,
  { name, title, description = '', mimeType }: Resource,
): ListedTool => ({
  kind,
  name: address,
  label: removeInvisible(name).slice(0, MAX_NAME),
  description: removeInvisible(description),
  inputSchema: { type: 'object', properties: { uri: { type: 'string' } }, required: ['uri'] },
  capability: null,
  title: toTitle(title) ?? toTitle(name),
  mimeType: mimeType === undefined ? null : removeInvisible(mimeType).slice(0, MAX_NAME),
})

const toTitle = (title: string | undefined) =>
  title === undefined ? null : removeInvisible(title).slice(0, MAX_TITLE) || null
