import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Loaded, ref } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { lockToolsOfServer } from '../../../entities/catalogue/ai-tool.sql.ts'
import { AiTool, type ToolDefinition } from '../../../entities/catalogue/ai-tool.ts'
import { type CallableServerRow, listToolServers } from '../../../entities/catalogue/mcp-server.sql.ts'
import { McpServer } from '../../../entities/catalogue/mcp-server.ts'
import { acquireLock, locks } from '../../../entities/sql/locks.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'
import { type ListedTool, type ToolListing, ToolServerError } from '../../ports/ai/tool-servers.ts'
import { syncModels } from '../sync.ts'

export interface ServerReport {
  server: string
  status: 'online' | 'offline'
  /** Why it is offline, in our words. */
  reason: string | null
  /** Names of tools: all wait for an administrator's approval but those that are removed. */
  added: string[]
  changed: string[]
  removed: string[]
  /** Tools that are not taken, by the server's name for them. */
  refused: ToolListing['rejected']
}

interface Asked {
  server: CallableServerRow
  offer?: ToolListing
  reason?: string
}

/** How many servers are asked at the same time. */
const AT_ONCE = 4

/**
 * Asks every tool server what it offers, and writes it down. A tool that is new, or that its server describes in other words
 * or with another schema, is switched off until an administrator has seen it. A server that does not answer loses nothing.
 */
async function discoverTools(ctx: Context): Promise<ServerReport[]> {
  return writeAll(ctx, await askAll(ctx))
}

/** A tool that is new may be one that the file assigns to models. */
export async function syncToolServers(ctx: Context): Promise<ServerReport[]> {
  const reports = await discoverTools(ctx)
  if (reports.some(({ added }) => added.length > 0)) await syncModels(ctx)
  return reports
}

/** Asks every tool server whether it answers, and leaves its tools as they are. */
export async function checkServers(ctx: Context): Promise<ServerReport[]> {
  const asked = await askAll(ctx)
  return writeAll(ctx, asked, { withTools: false })
}

async function askAll(ctx: Context): Promise<Asked[]> {
  const servers = await ctx.services.sql(listToolServers)
  const asked: Asked[] = []
  for (let first = 0; first < servers.length; first += AT_ONCE) {
    const some = servers.slice(first, first + AT_ONCE)
    asked.push(...(await Promise.all(some.map(({ server }) => ask(ctx, server)))))
  }
  return asked
}

const writeAll = (ctx: Context, asked: readonly Asked[], { withTools = true } = {}): Promise<ServerReport[]> =>
  withChangeLog(ctx, async (em, changes) => {
    // Replicas that do this at once take turns.
    await runStatement(em, acquireLock, [locks.syncTools])
    const reports: ServerReport[] = []
    for (const one of asked) reports.push(...(await write({ em, changes }, one, withTools)))
    return reports
  })

async function ask({ services: { toolServers, log }, signal }: Context, server: CallableServerRow): Promise<Asked> {
  try {
    return { server, offer: await toolServers.listTools(server, signal()) }
  } catch (error) {
    const reason = error instanceof ToolServerError ? error.message : 'it cannot be asked'
    log.warn({ server: server.id, reason, kind: (error as Error).name }, 'a tool server did not answer as it should')
    return { server, reason }
  }
}

/** The transaction, and what everybody is told of it. */
interface Writing {
  em: EntityManager
  changes: ChangeRecorder
}

async function write(writing: Writing, { server, offer, reason }: Asked, withTools: boolean): Promise<ServerReport[]> {
  const { em } = writing
  // Who approves a tool has it locked, too: an approval comes before this, or after.
  await runStatement(em, lockToolsOfServer, [server.id])
  const row = await em.findOne(McpServer, { id: server.id }, { populate: ['tools'] })
  // Deleted, or led elsewhere while it was asked.
  if (!row || row.url !== server.url) return []
  const status = offer ? 'online' : 'offline'
  const { version, protocolVersion } = offer ?? row
  writeSeen(writing, row, { status, version, protocolVersion })
  const report = { server: row.serverLabel, status, reason: reason ?? null } as const
  if (!offer || !withTools) return [{ ...report, added: [], changed: [], removed: [], refused: offer?.rejected ?? [] }]
  return [{ ...report, ...(await writeTools(writing, row, offer.tools)), refused: offer.rejected }]
}

/** Tools show the status of their server, so that theirs changes with it. */
function writeSeen(
  { em, changes }: Writing,
  row: Loaded<McpServer, 'tools'>,
  seen: Pick<McpServer, 'status' | 'version' | 'protocolVersion'>,
): void {
  const names = ['status', 'version', 'protocolVersion'] as const
  if (names.some((name) => row[name] !== seen[name])) changes.add(['all'], 'updated', 'mcp-servers', row.id)
  const tools = row.status === seen.status ? [] : row.tools.getItems()
  for (const { id } of tools) changes.add(['all'], 'updated', 'ai-tools', id)
  em.assign(row, seen as Partial<McpServer>)
}

async function writeTools({ em, changes }: Writing, server: McpServer, offered: readonly ListedTool[]) {
  const known = new Map(server.tools.getItems().map((tool) => [tool.mcpName, tool]))
  const added: string[] = []
  const changed: string[] = []
  for (const { name: mcpName, ...definition } of offered) {
    const tool = known.get(mcpName)
    known.delete(mcpName)
    if (!tool) added.push(await addTool({ em, changes }, server, mcpName, definition))
    else if (redefine(tool, definition)) {
      changed.push(tool.name)
      changes.add(['all'], 'updated', 'ai-tools', tool.id)
    }
  }
  const removed = [...known.values()].map((tool) => {
    em.remove(tool)
    changes.add(['all'], 'deleted', 'ai-tools', tool.id)
    return tool.name
  })
  await em.flush()
  return { added, changed, removed }
}

async function addTool({ em, changes }: Writing, server: McpServer, mcpName: string, definition: ToolDefinition) {
  const taken = new Set((await em.find(AiTool, {}, { fields: ['name'] })).map(({ name }) => name))
  const name = nameFor({ label: server.serverLabel, tool: mcpName }, taken)
  const { description, capability } = definition
  const tool = em.create(AiTool, {
    ...{ name, mcpName, description, capability, mcpConfig: definition, toolType: 'mcp', active: false },
    server: ref(server),
  })
  await em.flush()
  changes.add(['all'], 'created', 'ai-tools', tool.id)
  return name
}

/** Whether it says something else of itself than before. */
function redefine(tool: AiTool, definition: ToolDefinition): boolean {
  if (isDeepStrictEqual(tool.mcpConfig, definition)) return false
  const { description, capability } = definition
  Object.assign(tool, { mcpConfig: definition, description, capability, active: false })
  return true
}

/** What every provider takes for the name of a function. */
const MAX_LENGTH = 64
const MAX_LABEL = 24

/** A name for models, of the label of the server and the tool's own; another one where that is taken already. */
function nameFor({ label, tool }: { label: string; tool: string }, taken: ReadonlySet<string>): string {
  const wanted = `${slug(label).toLowerCase().slice(0, MAX_LABEL) || 'tools'}_${slug(tool) || 'tool'}`
  const isExact = wanted.length <= MAX_LENGTH && slug(tool) === tool && !taken.has(wanted)
  if (isExact) return wanted
  for (let n = 0; ; n++) {
    const mark = createHash('sha256').update(`${n} ${label} ${tool}`).digest('hex').slice(0, 8)
    const name = `${wanted.slice(0, MAX_LENGTH - mark.length - 1)}_${mark}`
    if (!taken.has(name)) return name
  }
}

const slug = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/[^a-zA-Z0-9-]+/g, '_')
    .replace(/^_+|_+$/g, '')
