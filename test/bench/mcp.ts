import { deepStrictEqual } from 'node:assert'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildRpc, sendRpc } from '../kit/mcp/gateway.ts'
import type { SubjectInput } from './subject.ts'
import type { BenchRequest, Contest, Suite, Wanted, World } from './suite.ts'

const SERVERS = 20
const TOOLS_PER_SERVER = 25
const CALL = { name: 'server_0_find-0', arguments: { text: 'Ovid' } }

async function open({ databaseUrl, folder, start }: World): Promise<Contest> {
  const toolServers = await start('tool-servers.ts', { toolsPerServer: TOOLS_PER_SERVER })
  const config = join(folder, 'ai.json')
  const mcpServers = Array.from({ length: SERVERS }, (_, index) => ({
    label: `Server ${index}`,
    url: `${toolServers.url}/${index}`,
  }))
  await writeFile(config, JSON.stringify({ providers: [], systemModels: {}, mcpServers }))
  const files = { DATA_DIR: join(folder, 'data'), AI_CONFIG: config }
  const limits = { MCP_CALLS_PER_MINUTE: '1000000', MCP_CALLS_AT_ONCE: '100' }
  const subject = await start<SubjectInput>('subject.ts', {
    settings: { DATABASE_URL: databaseUrl, PORT: '0', ...files, ...limits },
    temporaryDir: folder,
    abilities: ['mcp'],
    approvesTools: true,
  })
  const { token = '', tokens = '' } = subject.details
  const { tools } = (await sendRpc(subject, 'tools/list', { token })).result
  if (tools.length !== SERVERS * TOOLS_PER_SERVER) throw new Error(`${tools.length} tools are listed`)
  const floor = await start('mcp-floor.ts', { tools, toolServer: `${toolServers.url}/0` })
  const contest = {
    subject,
    floor,
    requests: [
      buildRequest('list', 'tools/list', {}, tokens, (end) => end.endsWith('}')),
      buildRequest('call', 'tools/call', CALL, tokens, (end) => end.includes('found')),
    ],
  }
  await assertSameResults(contest, token)
  return contest
}

function buildRequest(
  name: string,
  method: string,
  params: Record<string, unknown>,
  tokens: string,
  isWhole: BenchRequest['isWhole'],
): BenchRequest {
  const { body, headers } = buildRpc(method, { token: undefined, params })
  return { name, method: 'POST', path: '/mcp', body: JSON.stringify(body), headers, tokens: tokens.split(' '), isWhole }
}

/** Checks that both parts send the same, as less data would be faster. */
async function assertSameResults({ subject, floor }: Contest, token: string): Promise<void> {
  const read = async (part: { url: string }) => [
    (await sendRpc(part, 'tools/list', { token })).result.tools,
    (await sendRpc(part, 'tools/call', { token, params: CALL })).result.content,
  ]
  deepStrictEqual(await read(subject), await read(floor))
}

const cpu: Wanted = {
  what: 'processor time at most 3 times that of the floor',
  met: ({ subject, floor }) => subject.cpuPerRequest <= 3 * floor.cpuPerRequest,
}

export const mcp: Suite = {
  name: 'mcp',
  about: `a list and a call at the gateway with ${SERVERS * TOOLS_PER_SERVER} tools of ${SERVERS} servers, beside the library's handler alone`,
  open,
  wanted: [cpu],
}
