import { defineCommand } from 'citty'
import type { ToolDefinition } from '../../entities/catalogue/ai-tool.ts'
import { type ServerOffer, serverOffers } from '../../entities/catalogue/mcp-server.ts'
import { toolPrice } from '../../routers/ports/ai/tool-price.ts'
import { type CommandContext, json } from '../command-context.ts'
import { CancelledError, UsageError } from '../errors.ts'
import { groupList, parseFlag } from '../flag-values.ts'
import { formatTable } from '../output.ts'

interface DescribedTool {
  name: string
  kind: string
  server: string
  definition: ToolDefinition
  approved: ToolDefinition | null
}

/** Shows how the description of a tool differs from the approved one; removed lines start with -, new ones with +. */
function describeDifference({ name, server, definition, approved }: DescribedTool): string {
  const now = writeLines(definition)
  if (!approved) return [`${name} of ${server}, which is new:`, ...now].join('\n')
  const before = writeLines(approved)
  const common = findCommonLines(before, now)
  const gone = before.filter((_, at) => !common.before.has(at)).map((line) => `- ${line}`)
  const added = now.filter((_, at) => !common.now.has(at)).map((line) => `+ ${line}`)
  return [`${name} of ${server} says something else than when it was approved:`, ...gone, ...added].join('\n')
}

const writeLines = (definition: ToolDefinition): string[] => [
  ...(definition.title ? [`title: ${definition.title}`] : []),
  ...(definition.mimeType ? [`content: ${definition.mimeType}`] : []),
  ...definition.description.split('\n'),
  `capability: ${definition.capability ?? '-'}`,
  ...writeObject('claims', definition.annotations),
  ...writeObject('arguments', definition.inputSchema),
  ...writeObject('result', definition.outputSchema),
]

const writeObject = (name: string, value: object | null | undefined): string[] =>
  value ? `${name}: ${JSON.stringify(value, null, 2)}`.split('\n') : []

/** Returns the indexes of lines that both have in the same order. */
function findCommonLines(before: readonly string[], now: readonly string[]) {
  const common = { before: new Set<number>(), now: new Set<number>() }
  let from = 0
  for (const [at, line] of before.entries()) {
    const there = now.indexOf(line, from)
    if (there < 0) continue
    common.before.add(at)
    common.now.add(there)
    from = there + 1
  }
  return common
}

export const mcpCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the tool servers of the Model Context Protocol, and approve their tools.' },
    subCommands: {
      sync: syncServersCommand(context),
      check: checkServersCommand(context),
      list: listServersCommand(context),
      accounts: listAccountsCommand(context),
      tools: listToolsCommand(context),
      approve: approveCommand(context),
      access: serverAccessCommand(context),
      groups: toolGroupsCommand(context),
      price: serverPriceCommand(context),
    },
  })

const none = 'There are no tool servers. AI_CONFIG names some under mcpServers; administrators add others.'

export const syncServersCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Read the tools of every tool server. New and changed tools wait for an approval.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.mcp.sync())
      const waiting = record.flatMap(({ added, changed }) => [...added, ...changed])
      const refused = record.flatMap(({ server, refused }) =>
        refused.map(({ name, reason }) => `${server}: ${name} is not taken, ${reason}.`),
      )
      const rows = record.map(({ server, status, reason, added, changed, removed }) => ({
        server,
        status,
        reason,
        added: added.length,
        changed: changed.length,
        removed: removed.length,
      }))
      const next = waiting.length > 0 ? [`\`svc mcp approve\` shows what waits: ${waiting.join(', ')}.`] : []
      context.print({ record, text: [formatTable(rows, none), ...refused, ...next].join('\n') })
    },
  })

export const checkServersCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Check every tool server.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.mcp.check())
      context.print({ record, text: formatTable(record, none) })
    },
  })

export const listServersCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the tool servers with the results of their last check.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.mcp.servers())
      const rows = record.map(({ label, protocolVersion, requireApproval, transport, ...server }) => ({
        server: label,
        transport,
        address: server.address,
        status: server.status,
        protocol: protocolVersion,
        tools: server.tools,
        active: server.active,
        asks: requireApproval,
        groups: server.groups,
        programs: server.gateway,
        price: server.pricePerCall,
        offers: server.offers,
        account: server.account,
        connected: server.connections,
      }))
      context.print({ record, text: formatTable(rows, none) })
    },
  })

const listAccountsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Find how people connect their own accounts at the tool servers that need them.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.mcp.accounts())
      const rows = record.map(({ scopes, ...server }) => ({ ...server, scopes: scopes.join(' ') }))
      context.print({ record, text: formatTable(rows, 'No tool server has the account person.') })
    },
  })

export const listToolsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the tools of all tool servers, and their prompts and resources that are taken.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.mcp.tools())
      const rows = record.map(({ name, kind, server, active, isApproved, groups }) => ({
        name,
        kind,
        server,
        active,
        approved: isApproved,
        groups,
      }))
      context.print({ record, text: formatTable(rows, 'There are no tools. `svc mcp sync` asks the servers.') })
    },
  })

const approveCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show the current descriptions of tools, and let models call them.' },
    args: {
      name: {
        type: 'positional',
        description: 'The name of the tool; all tools that wait if absent.',
        required: false,
      },
      yes: { type: 'boolean', description: 'Do not ask for confirmation.' },
      json,
    },
    async run({ args: { name, yes } }) {
      const tools = await context.open(({ host }) => host.mcp.tools())
      const selected = tools.filter((tool) => (name ? tool.name === name : !tool.isApproved || tool.hasNewMembers))
      if (name && selected.length === 0) throw new UsageError(`There is no tool ${name}.`)
      const approved: string[] = []
      for (const tool of selected) {
        if (!yes && !(await confirmTool(context, tool, approved))) continue
        await context.open(({ host }) => host.mcp.approve({ name: tool.name, hash: tool.hash }))
        approved.push(tool.name)
      }
      const text = describeApprovals(approved, selected)
      context.print({ record: { approved }, text })
    },
  })

const serverAccessCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Set the groups that may call the tools of a server, and whether their own programs may.' },
    args: {
      name: { type: 'positional', description: 'The label of the server.', required: true },
      groups: {
        type: 'string',
        description: 'All groups, separated by commas; everybody if empty. They stay if absent.',
      },
      programs: { type: 'string', description: '`yes` or `no`. The present choice stays if absent.' },
      offers: {
        type: 'string',
        description:
          'Programs get these beside its tools: `prompts,resources`; nothing if empty. The choice stays if absent.',
      },
      json,
    },
    async run({ args: { name, groups, programs, offers } }) {
      const change = {
        ...(groups !== undefined && { groups: groupList.parse(groups) }),
        ...readPrograms(programs),
        ...readOffers(offers),
      }
      const server = await findServer(context, name)
      await context.open(({ host }) => host.mcpServers.update({ id: String(server.id), ...change }))
      const record = { server: name, groups: server.groups, gateway: server.gateway, offers: server.offers, ...change }
      const programsToo = record.gateway ? 'also' : 'but not'
      const who = describeGroups(record.groups)
      const beside =
        record.gateway && record.offers.length > 0 ? `, which also get its ${record.offers.join(' and ')}` : ''
      const text = `${who} may call the tools of ${name}, ${programsToo} with their own programs${beside}.`
      context.print({ record, text })
    },
  })

/** Finds a server by its label. Throws if there is none or several. */
async function findServer(context: CommandContext, name: string) {
  const servers = await context.open(({ host }) => host.mcp.servers())
  const [server, other] = servers.filter(({ label }) => label === name)
  if (!server) throw new UsageError(`There is no server ${name}.`)
  if (other) throw new UsageError(`There are several servers ${name}. Change them in the browser.`)
  return server
}

const serverPriceCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Set what each call of a tool of a server costs, which limits in money and bills count.' },
    args: {
      name: { type: 'positional', description: 'The label of the server.', required: true },
      price: { type: 'string', description: 'The price of a call, such as "0.005 EUR", or `free`.', required: true },
      json,
    },
    async run({ args: { name, price } }) {
      const pricePerCall = price === 'free' ? null : parseFlag(toolPrice, price, '--price')
      const server = await findServer(context, name)
      await context.open(({ host }) => host.mcpServers.update({ id: String(server.id), pricePerCall }))
      const text = `A call of a tool of ${name} costs ${pricePerCall ?? 'nothing'}.`
      context.print({ record: { server: name, pricePerCall }, text })
    },
  })

const toolGroupsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Set the groups that may use a tool, a prompt or a resource.' },
    args: {
      name: { type: 'positional', description: 'The name of the tool.', required: true },
      groups: { type: 'string', description: 'All groups, separated by commas; everybody if empty.', required: true },
      json,
    },
    async run({ args: { name, groups: list } }) {
      const groups = groupList.parse(list)
      const tools = await context.open(({ host }) => host.mcp.tools())
      const tool = tools.find((one) => one.name === name)
      if (!tool) throw new UsageError(`There is no tool ${name}.`)
      await context.open(({ host }) =>
        tool.kind === 'tool'
          ? host.aiTools.update({ id: String(tool.id), groups })
          : host.mcp.setAccess({ name, groups }),
      )
      context.print({ record: { tool: name, groups }, text: `${describeGroups(groups)} may use ${name}.` })
    },
  })

const describeGroups = (groups: readonly string[]) =>
  groups.length > 0 ? `People in ${groups.join(', ')}` : 'Everybody'

function readPrograms(programs: string | undefined): { gateway?: boolean } {
  if (programs === undefined) return {}
  if (programs !== 'yes' && programs !== 'no') throw new UsageError('--programs must be yes or no.')
  return { gateway: programs === 'yes' }
}

function readOffers(list: string | undefined): { offers?: ServerOffer[] } {
  if (list === undefined) return {}
  const words = groupList.parse(list)
  if (!words.every((word) => serverOffers.some((offer) => offer === word)))
    throw new UsageError('--offers must be prompts, resources, or both.')
  return { offers: serverOffers.filter((offer) => words.includes(offer)) }
}

function describeApprovals(approved: readonly string[], selected: readonly { name: string }[]): string {
  const left = selected.map(({ name }) => name).filter((name) => !approved.includes(name))
  const lines = [
    ...(approved.length > 0 ? [`Approved: ${approved.join(', ')}.`] : []),
    ...(left.length > 0 ? [`As before: ${left.join(', ')}.`] : []),
  ]
  return lines.join('\n') || 'No tool waits for an approval.'
}

type Tool = Parameters<typeof describeDifference>[0]

/** Shows a tool and asks for approval. Somebody who cancels keeps the approvals that they have already given. */
async function confirmTool({ prompts }: CommandContext, tool: Tool, approved: readonly string[]): Promise<boolean> {
  prompts.requireTerminal('--yes')
  prompts.show(describeDifference(tool))
  try {
    return await prompts.confirm(
      '--yes',
      `${tool.kind === 'tool' ? 'May models call' : 'May programs use'} ${tool.name} of ${tool.server}?`,
    )
  } catch (error) {
    const isHalfway = error instanceof CancelledError && approved.length > 0
    throw isHalfway ? new CancelledError(`These were approved before that: ${approved.join(', ')}.`) : error
  }
}
