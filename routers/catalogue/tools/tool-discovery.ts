import { isDeepStrictEqual } from 'node:util'
import { type Loaded, ref } from '@mikro-orm/core'
import { lockToolsOfServer } from '../../../entities/catalogue/ai-tool.sql.ts'
import { AiTool, type ToolDefinition, type ToolKind } from '../../../entities/catalogue/ai-tool.ts'
import { type CallableServerRow, listToolServers } from '../../../entities/catalogue/mcp-server.sql.ts'
import { McpServer } from '../../../entities/catalogue/mcp-server.ts'
import { acquireLock, locks } from '../../../entities/sql/locks.ts'
import type { Caller } from '../../core/caller.ts'
import type { ChangeTransaction } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'
import { AccountNeeded, type ListedTool, type ToolListing, ToolServerError } from '../../ports/ai/tool-servers.ts'
import { syncModels } from '../sync.ts'
import { recordOfferChange, recordToolChange, removeTools } from './remove-tools.ts'
import { ToolNames } from './tool-names.ts'

export interface ServerReport {
  server: string
  status: 'online' | 'offline'
  /** Reason for being offline, in our words. */
  reason: string | null
  /** Names of tools. Added and changed tools wait for approval. */
  added: string[]
  changed: string[]
  removed: string[]
  /** Rejected tools, by the server's name for them. */
  refused: ToolListing['rejected']
}

interface ServerAnswer {
  server: CallableServerRow
  offer?: ToolListing
  reason?: string
  /** True if the server answers, but lists its tools only with an account. */
  needsAccount?: true
}

/** Maximum number of servers that are asked concurrently. */
const CONCURRENCY = 4

/**
 * Asks every tool server for its tools and stores them. New tools, and tools with a changed description or schema, are
 * switched off until an administrator has reviewed them. Tools of a server that does not respond stay.
 */
async function discoverTools(ctx: Context): Promise<ServerReport[]> {
  return writeAnswers(ctx, await askServers(ctx))
}

/** Discovers tools. If some are new, synchronises the models, because the file may assign these tools to them. */
export async function syncToolServers(ctx: Context): Promise<ServerReport[]> {
  const reports = await discoverTools(ctx)
  if (reports.some(({ added }) => added.length > 0)) await syncModels(ctx)
  return reports
}

/** Asks every tool server whether it responds; their tools stay. */
export async function checkServers(ctx: Context): Promise<ServerReport[]> {
  const answers = await askServers(ctx)
  return writeAnswers(ctx, answers, { withTools: false })
}

async function askServers(ctx: Context): Promise<ServerAnswer[]> {
  const servers = await ctx.services.sql(listToolServers)
  const answers: ServerAnswer[] = []
  for (let first = 0; first < servers.length; first += CONCURRENCY) {
    const batch = servers.slice(first, first + CONCURRENCY)
    answers.push(...(await Promise.all(batch.map(({ server }) => askServer(ctx, server)))))
  }
  return answers
}

const writeAnswers = (
  ctx: Context,
  answers: readonly ServerAnswer[],
  { withTools = true } = {},
): Promise<ServerReport[]> =>
  withChangeLog(ctx, async (em, changes) => {
    // Replicas that do this at the same time take turns.
    await runStatement(em, acquireLock, [locks.syncTools])
    const reports: ServerReport[] = []
    for (const answer of answers) reports.push(...(await writeAnswer({ em, changes }, answer, withTools)))
    return reports
  })

/** Lists of servers with own accounts are those of the administrator who asks for them. */
const findPerson = (caller: Caller) => (caller.type === 'user' ? caller.person.id : undefined)

async function askServer({ services, signal, caller }: Context, server: CallableServerRow): Promise<ServerAnswer> {
  try {
    return { server, offer: await services.ai.toolServers.listTools(server, signal(), findPerson(caller)) }
  } catch (error) {
    if (error instanceof AccountNeeded) return { server, reason: error.message, needsAccount: true }
    const reason = error instanceof ToolServerError ? error.message : 'it cannot be asked'
    services.log.warn(
      { server: server.id, reason, kind: (error as Error).name },
      'a tool server did not answer as it should',
    )
    return { server, reason }
  }
}

async function writeAnswer(
  transaction: ChangeTransaction,
  { server, offer, reason, needsAccount }: ServerAnswer,
  withTools: boolean,
): Promise<ServerReport[]> {
  const { em } = transaction
  // An approval locks the tool as well, so it comes before this or after.
  await runStatement(em, lockToolsOfServer, [server.id])
  const row = await em.findOne(McpServer, { id: server.id }, { populate: ['tools'] })
  // The server was deleted, or got another address, while it was asked.
  if (!row || row.url !== server.url) return []
  const status = offer || needsAccount ? 'online' : 'offline'
  const { version, protocolVersion } = offer ?? row
  writeStatus(transaction, row, { status, version, protocolVersion })
  const report = { server: row.serverLabel, status, reason: reason ?? null } as const
  if (!offer || !withTools) return [{ ...report, added: [], changed: [], removed: [], refused: offer?.rejected ?? [] }]
  return [{ ...report, ...(await writeTools(transaction, row, offer.tools)), refused: offer.rejected }]
}

/** Writes the server's status. Tools show it too, so their changes are recorded as well. */
function writeStatus(
  { em, changes }: ChangeTransaction,
  row: Loaded<McpServer, 'tools'>,
  observed: Pick<McpServer, 'status' | 'version' | 'protocolVersion'>,
): void {
  const names = ['status', 'version', 'protocolVersion'] as const
  if (names.some((name) => row[name] !== observed[name])) changes.add(['all'], 'updated', 'mcp-servers', row.id)
  const tools = row.status === observed.status ? [] : row.tools.getItems().filter(({ kind }) => kind === 'tool')
  for (const { id } of tools) changes.add(['all'], 'updated', 'ai-tools', id)
  em.assign(row, observed as Partial<McpServer>)
}

async function writeTools({ em, changes }: ChangeTransaction, server: McpServer, offered: readonly ListedTool[]) {
  const toolsByName = new Map(server.tools.getItems().map((tool) => [`${tool.kind} ${tool.mcpName}`, tool]))
  const names = await ToolNames.read(em)
  const { serverLabel: label, url } = server
  const added: string[] = []
  const changed: string[] = []
  const kinds = new Set<ToolKind>()
  for (const { kind, name: mcpName, label: text = mcpName, ...definition } of offered) {
    const tool = toolsByName.get(`${kind} ${mcpName}`)
    toolsByName.delete(`${kind} ${mcpName}`)
    if (!tool) {
      const name = names.take({ label, url, kind, mcpName, text })
      await addTool({ em, changes }, { server, name, kind, mcpName, definition })
      added.push(name)
      kinds.add(kind)
    } else if (updateDefinition(tool, definition)) {
      changed.push(tool.name)
      kinds.add(kind)
      recordToolChange(changes, 'updated', tool)
    }
  }
  const removedTools = [...toolsByName.values()]
  await removeTools({ em, changes }, removedTools)
  for (const { kind } of removedTools) kinds.add(kind)
  const kind = [...kinds].find((each) => each !== 'tool')
  if (kind) recordOfferChange(changes, { kind, server: ref(server) })
  await em.flush()
  return { added, changed, removed: removedTools.map(({ name }) => name) }
}

interface NewTool {
  server: McpServer
  name: string
  kind: ToolKind
  mcpName: string
  definition: ToolDefinition
}

async function addTool(
  { em, changes }: ChangeTransaction,
  { server, name, kind, mcpName, definition }: NewTool,
): Promise<void> {
  const { description, capability } = definition
  const tool = em.create(AiTool, {
    name,
    kind,
    mcpName,
    description,
    capability,
    mcpConfig: definition,
    toolType: 'mcp',
    active: false,
    server: ref(server),
  })
  await em.flush()
  recordToolChange(changes, 'created', tool)
}

/**
 * Updates a tool's definition, and switches the tool off unless it is as it was approved, as far as the approval knew
 * the members. Returns false if the definition is unchanged.
 */
function updateDefinition(tool: AiTool, definition: ToolDefinition): boolean {
  if (isDeepStrictEqual(tool.mcpConfig, definition)) return false
  const { description, capability } = definition
  const active = tool.active && isDeepStrictEqual(tool.approved, restrictTo(tool.approved, definition))
  Object.assign(tool, { mcpConfig: definition, description, capability, active })
  return true
}

/** Returns the members of a definition that another one has. */
const restrictTo = (known: object | null | undefined, definition: ToolDefinition) =>
  Object.fromEntries(Object.entries(definition).filter(([name]) => known && Object.hasOwn(known, name)))
