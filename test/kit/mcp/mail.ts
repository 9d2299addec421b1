import OpenAI from 'openai'
import { callsTool, startProvider, writeConfig } from '../ai/provider.ts'
import { startApp, type TestApp } from '../app.ts'
import { startToolServer } from './tool-server.ts'

export type Input = OpenAI.Responses.ResponseInput
type Response = OpenAI.Responses.Response

export const HELLO: Input = [{ role: 'user', content: 'Hello' }]

export const createResponse = (client: OpenAI, input: Input, more: object = {}): Promise<Response> =>
  client.responses.create({ model: 'mock-1', input, ...more, stream: false })

/** Appends a response to the conversation. */
export const appendOutput = (input: Input, { output }: Response): Input => [...input, ...(output as Input)]

export function findApprovalRequests({ output }: Response) {
  return output.filter((item) => item.type === 'mcp_approval_request')
}

export function findApprovalRequest(response: Response) {
  const [question, ...others] = findApprovalRequests(response)
  if (!question || others.length > 0) throw new Error('not one question')
  return question
}

/** The answer to each question of a response. */
export const buildApprovals = (response: Response, approve: boolean, reason?: string): Input =>
  findApprovalRequests(response).map(({ id }) => ({
    type: 'mcp_approval_response',
    approval_request_id: id,
    approve,
    ...(reason && { reason }),
  }))

/** A service whose models may send mail by a tool that asks, and two people who speak to it as programs for OpenAI do. */
export async function startMail(adapter = 'openai-compatible', requireApproval: 'always' | 'page' = 'always') {
  await using startup = new AsyncDisposableStack()
  const server = startup.use(await startToolServer())
  const upstream = startup.use(await startProvider())
  const resources = startup.move()

  async function start(settings: Record<string, string> = {}): Promise<TestApp> {
    const mcpServers = [{ label: 'Mail', url: server.url, requireApproval }]
    const models = [
      { id: 'mock-1', external: true, tools: ['mail_echo'], fallback: ['mock-2'] },
      { id: 'mock-2', external: true },
    ]
    const provider = { adapter, models, circuit: { failures: 1_000_000 } }
    const config = resources.use(await writeConfig(upstream.url, { provider, more: { mcpServers } }))
    const started = resources.use(await startApp({ AI_CONFIG: config.file, ...settings }))
    await started.host.mcp.sync()
    const [known] = await started.host.mcp.tools()
    await started.host.mcp.approve({ name: 'mail_echo', hash: known?.hash ?? '' })
    return started
  }

  const svc = await start()
  const createOpenAiClient = (apiKey: string, { url } = svc) =>
    new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 })
  const [one, other] = [await svc.user(), await svc.user()]
  const ada = createOpenAiClient(one.token)
  return {
    svc,
    server,
    upstream,
    start,
    createOpenAiClient,
    ada,
    eve: createOpenAiClient(other.token),
    adaId: one.id,

    /** Returns the arguments of the tool calls. */
    calls: () => server.seen.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.arguments),

    /** The last that the model was told. */
    lastModelMessage: () => upstream.requests.at(-1)?.body.messages.at(-1),

    /** Builds the conversation up to an approved request. */
    async buildApprovedInput(client = ada) {
      const firstResponse = await createResponse(client, HELLO)
      return {
        response: firstResponse,
        input: [...appendOutput(HELLO, firstResponse), ...buildApprovals(firstResponse, true)],
      }
    },

    reset() {
      server.seen.length = 0
      server.behave = undefined
      upstream.requests.length = 0
      upstream.behave = callsTool('mail_echo', '{"text":"to Bob"}')
    },

    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
