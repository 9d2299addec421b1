import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { buildQuestion, callsTool, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { startEverything } from '../kit/mcp/everything.ts'

describe('tools of tool servers', () => {
  test.each(['http', 'sse'] as const)(
    "a model calls a tool over %s after the administrator's and the person's approval",
    async (transport) => {
      await using server = await startEverything(transport)
      await using upstream = await startProvider(callsTool('everything_echo', '{"message":"from afar"}'))
      const mcpServers = [{ label: 'Everything', url: server.url, transport }]
      await using config = await writeConfig(upstream.url, {
        model: { tools: ['everything_echo'] },
        more: { mcpServers },
      })
      await using svc = await startApp({ AI_CONFIG: config.file })
      const { token } = await svc.user()
      const sendQuestion = async () => {
        upstream.requests.length = 0
        const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
        return {
          status: response.status,
          body: await response.json(),
          bodies: upstream.requests.map(({ body }) => body),
        }
      }

      const [report] = await svc.host.mcp.sync()
      expect(report).toMatchObject({ server: 'Everything', status: 'online', changed: [], removed: [], refused: [] })
      expect(report?.added).toContain('everything_echo')
      const [row] = await svc.rows('select transport, protocol_version as protocol from mcp_servers')
      expect(row).toEqual({ transport, protocol: '2025-11-25' })
      expect((await sendQuestion()).bodies[0]?.tools).toBeUndefined()

      const echo = (await svc.host.mcp.tools()).find(({ name }) => name === 'everything_echo')
      await svc.host.mcp.approve({ name: 'everything_echo', hash: echo?.hash ?? '' })
      const { status, body, bodies } = await sendQuestion()
      expect([status, body]).toEqual([200, { success: true, content: { text: 'The tool was of help.' } }])
      expect(bodies[0]?.tools).toMatchObject([
        { function: { name: 'everything_echo', parameters: { type: 'object' } } },
      ])
      expect(bodies[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'Echo: from afar' })

      await config.write({ ...config.config, mcpServers: [{ ...mcpServers[0], requireApproval: 'always' }] })
      await svc.host.models.sync()
      const client = new OpenAI({ apiKey: token, baseURL: `${svc.url}/v1` })
      const conversation: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Hello' }]
      const { output } = await client.responses.create({ model: 'mock-1', input: conversation })
      const [{ id } = { id: undefined }] = output
      const answer = { type: 'mcp_approval_response', approval_request_id: id ?? '', approve: true } as const
      const input = [...conversation, ...(output as typeof conversation), answer]
      expect((await client.responses.create({ model: 'mock-1', input })).output).toMatchObject([
        { type: 'mcp_call', server_label: 'Everything', output: 'Echo: from afar' },
        { type: 'message' },
      ])
    },
  )
})
