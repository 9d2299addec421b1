import { expect, test } from 'vitest'
import { toModelResult } from '../../routers/ports/ai/model-result.ts'
import type { ToolServer } from '../../routers/ports/ai/tool-servers.ts'
import { AccountSecrets } from '../../server/mcp/account-secrets.ts'
import { AccountTokens } from '../../server/mcp/account-tokens.ts'
import { ConnectedToolServers } from '../../server/mcp/tool-servers.ts'
import { createVault } from '../../server/stores/vault.ts'
import { startToolServer } from '../kit/mcp/tool-server.ts'

test('a call that runs while its server is changed gets its result', async () => {
  await using server = await startToolServer()
  const released = Promise.withResolvers<void>()
  server.behave = async ({ rpc }) => {
    if (rpc.method === 'tools/call' && rpc.params?.name === 'slow') await released.promise
    return false
  }
  const vault = createVault('a key of thirty-two characters, or more')
  const toolServers = new ConnectedToolServers({
    vault,
    accounts: new AccountTokens({
      sql: async () => [],
      secrets: new AccountSecrets(vault),
      authorization: () => Promise.reject(new Error('this server needs no accounts')),
      baseUrl: 'http://127.0.0.1',
    }),
    readConfig: async () => [],
    path: undefined,
    timeout: 60_000,
    maxResult: 65_536,
  })
  const row: ToolServer = {
    id: 1,
    label: 'Tools',
    url: server.url,
    transport: 'http',
    requireApproval: 'never',
    groups: [],
    offers: [],
    gateway: true,
    account: 'shared',
    protocolVersion: null,
    timeouts: {},
    pricePerCall: null,
    apiKey: null,
    additionalConfig: null,
  }
  const call = async (name: string, more: Partial<ToolServer> = {}) => {
    const called = { ...row, ...more }
    using place = await toolServers.reserve(called, 1)
    const result = await toolServers.call(
      called,
      { kind: 'tool', name, input: {}, person: 1, place },
      new AbortController().signal,
    )
    return toModelResult(result)
  }
  const running = call('slow')
  await expect.poll(() => server.seen.filter(({ method }) => method === 'tools/call')).toHaveLength(1)

  expect(await call('echo', { timeouts: { read: 50_000 } })).toBe('done')
  released.resolve()

  expect(await running).toBe('done')
  await toolServers.close()
})
