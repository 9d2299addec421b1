import { z } from 'zod'
import { listServerTools, lockTool } from '../../../entities/catalogue/ai-tool.sql.ts'
import { AiTool } from '../../../entities/catalogue/ai-tool.ts'
import { listAccountServers } from '../../../entities/catalogue/mcp-connection.sql.ts'
import { listServers, listToolServers, type ServerSummary } from '../../../entities/catalogue/mcp-server.sql.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { about, adminSession, router, sensitiveAdmin } from '../../core/trpc.ts'
import { toModelResult } from '../../ports/ai/model-result.ts'
import { type ClientKind, ToolAccountError } from '../../ports/ai/tool-accounts.ts'
import { ToolServerError } from '../../ports/ai/tool-servers.ts'
import { groupList } from '../schemas.ts'
import { recordOfferChange, recordToolChange } from './remove-tools.ts'
import { checkServers, syncToolServers } from './tool-discovery.ts'

const toolVersion = z.strictObject({ name: z.string().max(120), hash: z.string().max(64) })

/** Administration of tool servers. */
export const mcpRouter = router({
  sync: sensitiveAdmin
    .meta({ ...about('Store the current tools of every tool server.'), waitsOutside: true })
    .mutation(({ ctx }) => syncToolServers(ctx)),

  check: sensitiveAdmin
    .meta({ ...about('Check and store which tool servers respond; their tools stay.'), waitsOutside: true })
    .mutation(async ({ ctx }) =>
      (await checkServers(ctx)).map(({ server, status, reason }) => ({ server, status, reason })),
    ),

  servers: adminSession.query(async ({ ctx }) =>
    (await ctx.services.sql(listServers)).map(({ url, ...server }) => ({
      ...server,
      address: hideSecrets(url, server),
    })),
  ),

  accounts: adminSession
    .meta({
      ...about('Find how people connect their accounts at each tool server; registers nothing.'),
      waitsOutside: true,
    })
    .query(({ ctx }) => findAccountServers(ctx)),

  tools: adminSession.query(({ ctx }) => ctx.services.sql(listServerTools)),

  approve: sensitiveAdmin
    .meta(about('Approve the current definition of a tool, which must be the one that was reviewed.'))
    .input(toolVersion)
    .mutation(({ ctx, input }) => approveTool(ctx, input)),

  setAccess: sensitiveAdmin
    .meta(about('Set who may use a prompt or a resource, or switch it off until it is switched on again.'))
    .input(
      z.strictObject({
        name: z.string().max(120),
        groups: groupList
          .optional()
          .describe('The groups whose people may use it, if its server allows it, too. If empty, everybody may.'),
        active: z.boolean().optional().describe('False switches it off. True does not approve it.'),
      }),
    )
    .mutation(({ ctx, input }) => setAccess(ctx, input)),

  tryTool: sensitiveAdmin
    .meta({ ...about('Call a tool as a model would, with the given input.'), waitsOutside: true })
    .input(toolVersion.extend({ input: z.record(z.string(), z.json()) }))
    .mutation(({ ctx, input }) => tryTool(ctx, input)),
})

/** Returns the address without its query, or the command without its arguments, because these may be secret. */
function hideSecrets(url: string, { transport }: Pick<ServerSummary, 'transport'>): string {
  const parsed = transport === 'stdio' ? null : URL.parse(url)
  return parsed ? `${parsed.origin}${parsed.pathname}` : (url.split(' ')[0] ?? '')
}

interface AccountServerReport {
  server: string
  /** The authorization server; null if it was not found. */
  issuer: string | null
  /** The way in which this service is known there. */
  client: ClientKind | null
  scopes: readonly string[]
  /** Reason in our words why nobody can connect an account. */
  reason: string | null
}

/** Asks the servers one after the other, as each is asked several times. */
async function findAccountServers({ services, signal }: Context): Promise<AccountServerReport[]> {
  const accounts = await services.ai.toolAccounts()
  const reports: AccountServerReport[] = []
  for (const server of await services.sql(listAccountServers, [null, null])) {
    const found = await accounts.discover(server, signal()).catch((error: unknown) => {
      if (error instanceof ToolAccountError) return { issuer: null, client: null, scopes: [], reason: error.message }
      throw error
    })
    reports.push({ reason: null, server: server.label, ...found })
  }
  return reports
}

/** Approves a tool under a row lock, which serializes it with a synchronisation that rewrites the tool. */
const approveTool = (ctx: Context, { name, hash }: z.output<typeof toolVersion>) =>
  withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, lockTool, [name])
    const definition = (await runStatement(em, listServerTools, [])).find((tool) => tool.name === name)
    if (!definition) throw new Problem('not_found')
    if (definition.hash !== hash) throw new Problem('precondition_failed')
    const tool = await em.findOneOrFail(AiTool, { name }, { refresh: true })
    em.assign(tool, { active: true, approved: tool.mcpConfig ?? null })
    recordToolChange(changes, 'updated', tool)
    recordOfferChange(changes, tool)
    return { name }
  })

interface AccessChange {
  name: string
  groups?: string[] | undefined
  active?: boolean | undefined
}

/** The access of tools is an attribute of `ai-tools`. */
const setAccess = (ctx: Context, { name, ...change }: AccessChange) =>
  withChangeLog(ctx, async (em, changes) => {
    await runStatement(em, lockTool, [name])
    const offer = await em.findOne(AiTool, { name, kind: { $ne: 'tool' } }, { refresh: true })
    if (!offer) throw new Problem('not_found')
    const before = { groups: offer.groups, active: offer.active }
    const { groups = before.groups, active = before.active } = change
    em.assign(offer, { groups, active })
    recordOfferChange(changes, offer)
    ctx.auditedCall?.setSubject(`ai-tools:${offer.id}`).recordChange({ name, before, after: { groups, active } })
    return { name }
  })

/** Maximum characters of a result that are shown. */
const MAX_RESULT = 20_000

interface ToolTrial {
  isFailed: boolean
  /** The result, as JSON if it is no text, or the reason of the failure. */
  result: string
}

interface TrialInput extends z.output<typeof toolVersion> {
  input: Record<string, unknown>
}

/** Records the tool's name in the audit log, but not its input. */
async function tryTool(ctx: Context, { name, hash, input }: TrialInput): Promise<ToolTrial> {
  ctx.auditedCall?.setSubject(`ai-tools:${name}`).recordChange({ tool: name })
  const tool = (await ctx.services.sql(listServerTools)).find((each) => each.name === name)
  const servers = await ctx.services.sql(listToolServers)
  const { server } = servers.find(({ server }) => server.id === tool?.serverId) ?? {}
  if (tool?.kind !== 'tool' || !server) throw new Problem('not_found')
  if (tool.hash !== hash) throw new Problem('precondition_failed')
  const person = ctx.caller.type === 'user' ? ctx.caller.person.id : 0
  const { toolServers } = ctx.services.ai
  try {
    using place = await toolServers.reserve(server, person)
    const call = { kind: tool.kind, name: tool.mcpName, input, person, place }
    const result = await toolServers.call(server, call, ctx.signal())
    return toTrial(toModelResult(result), result.isError)
  } catch (error) {
    if (!(error instanceof ToolServerError)) throw error
    return toTrial(error.message, true)
  }
}

function toTrial(result: unknown, isFailed: boolean): ToolTrial {
  const text = typeof result === 'string' ? result : JSON.stringify(result, null, 2)
  return { isFailed, result: text.length > MAX_RESULT ? `${text.slice(0, MAX_RESULT)} …` : text }
}
