import { startApp } from '../../app.ts'
import { signIn } from '../../browser.ts'
import { findFreePort } from '../../free-port.ts'
import { PROVIDER_KEY, type Protocol, protocols } from '../protocols.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  callsTool,
  canary,
  neverEnds,
  type ProviderRequest,
  sendJson,
  stalls,
  startProvider,
  writeConfig,
} from '../provider.ts'
import { type Fault, faults } from './faults.ts'
import type { Surface, SurfaceAnswer } from './surfaces.ts'

type Address = NonNullable<Fault['address']> | 'usual'

/** The name of the model that commits a fault in a dialect. */
const modelName = ({ adapter }: Protocol, address: Address = 'usual') => `${adapter} ${address}`

/** Builds a question that makes the provider commit a fault; its number identifies the requests. */
const buildFaultQuestion = (number: number, name: string) => `Case ${number}: ${name}!`

const FAULT_QUESTION = /Case (\d+): ([^!]+)!/

/** Behaviours of an openai-compatible provider that are no faults. */
const harmlessBehaviours: Record<string, Behaviour> = {
  echo: (request, response) => {
    const [number] = FAULT_QUESTION.exec(JSON.stringify(request.body))?.slice(1) ?? []
    return answers(`${`I answer ${number}. `.repeat(8)}Done.`)(request, response)
  },
  'no end': (request, response) => (request.body.stream ? neverEnds : stalls)(request, response),
  'a tool': callsTool('listening', '{}'),
}

/** Starts a provider of all dialects that commits the requested fault. */
async function startFaultyProvider() {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider())
  upstream.behave = (request, response) => {
    const protocol = protocols.find(({ adapter }) => request.path.startsWith(`/v1/${adapter}/`))
    const [, , name = ''] = FAULT_QUESTION.exec(JSON.stringify(request.body)) ?? []
    const fault = faults.find((one) => one.name === name)
    if (harmlessBehaviours[name]) return harmlessBehaviours[name](request, response)
    if (!protocol) return sendJson(response, { error: canary }, 404)
    const isStream = Boolean(request.body.stream) || request.path.includes('stream')
    if (fault?.behave) return fault.behave(response, { protocol, isStream })
    if (!isStream) return sendJson(response, protocol.answer)
    beginStream(response)
    response.end(protocol.events.join(''))
  }
  const { host } = new URL(upstream.url)
  const addresses = {
    usual: `http://${host}`,
    impatient: `http://${host}`,
    closed: `http://127.0.0.1:${await findFreePort()}`,
    nameless: 'http://models.invalid',
    'not TLS': `https://${host}`,
  }
  const config = resources.use(await writeConfig(upstream.url))
  await config.write({ providers: protocols.flatMap((protocol) => buildProviders(protocol, addresses)) })
  const disposables = resources.move()
  return {
    file: config.file,
    /** Texts that no response may contain: the key, the provider's details and its address. */
    secrets: [PROVIDER_KEY, canary, host, 'models.invalid', new URL(addresses.closed).host],
    /** The requests for a question, by its number. */
    findRequests: (number: number): ProviderRequest[] =>
      upstream.requests.filter(({ body }) => FAULT_QUESTION.exec(JSON.stringify(body))?.[1] === `${number}`),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

function buildProviders(protocol: Protocol, addresses: Record<Address, string>) {
  return Object.entries(addresses).map(([address, url]) => {
    const id = modelName(protocol, address as Address)
    return {
      id,
      adapter: protocol.adapter,
      apiUrl: `${url}/v1/${protocol.adapter}`,
      apiKey: PROVIDER_KEY,
      // The circuit breaker stays closed, as other cases run concurrently.
      circuit: { failures: 1_000_000 },
      timeouts: { connect: '5s', firstByte: address === 'impatient' ? '4s' : '50s', total: '50s' },
      models: [{ id, upstreamId: 'up-1', external: true, tools: ['listening'] }],
    }
  })
}

/** One question by one API, to a provider of one dialect with at most one fault. */
export interface FaultCase {
  face: Surface
  protocol: Protocol
  fault?: Fault
  /** The behaviour of the provider in a case without a fault. */
  wish?: string
}

interface SendOptions {
  signal?: AbortSignal
  /** A token of another person. */
  token?: string
}

interface UsageRecord {
  requestId: string
  outcome: string
  output: number
}

/** Starts a service with a faulty provider, and sends questions by every API. */
export async function startFaultyService() {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(await startFaultyProvider())
  const svc = resources.use(
    await startApp({
      AI_CONFIG: provider.file,
      EXTENSIONS: 'test/fixtures/listening-extension.ts',
    }),
  )
  const { token } = await svc.user()
  const { browser } = await signIn(svc, 'ada')
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  let request = 0
  const disposables = resources.move()

  async function send(
    { face, protocol, fault, wish = '' }: FaultCase,
    { signal, token: by = token }: SendOptions = {},
  ) {
    const number = ++request
    const question = {
      model: modelName(protocol, fault?.address),
      text: buildFaultQuestion(number, fault?.name ?? wish),
    }
    const caller = face.inSession
      ? { headers: { ...face.headers, cookie, 'sec-fetch-site': 'same-origin' } }
      : { token: by }
    const options = { headers: face.headers ?? {}, ...caller, body: face.body(question), ...(signal && { signal }) }
    return { number, response: svc.send('POST', face.path, options) }
  }

  return {
    svc,
    provider,
    send,
    async sendQuestion(
      faultCase: FaultCase,
      sendOptions?: SendOptions,
    ): Promise<SurfaceAnswer & { number: number; calls: number }> {
      const { number, response } = await send(faultCase, sendOptions)
      const answer = await response
      const requestId = answer.headers.get('x-request-id') ?? ''
      const text = await answer.text()
      return { status: answer.status, requestId, text, number, calls: provider.findRequests(number).length }
    },
    /** Returns the newest usage record. */
    async newest(): Promise<{ outcome: string } | undefined> {
      await svc.services.ai.usageLedger.flush()
      const [row] = await svc.rows<UsageRecord>('select outcome from usage_records order by id desc limit 1')
      return row
    },
    async records(): Promise<Map<string, UsageRecord[]>> {
      await svc.services.ai.usageLedger.flush()
      const rows = await svc.rows<UsageRecord>(
        'select request_id as "requestId", outcome, output_tokens as output from usage_records',
      )
      return Map.groupBy(rows, ({ requestId }) => requestId)
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}
