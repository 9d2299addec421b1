import { isDeepStrictEqual } from 'node:util'
import type { LanguageModelV4FinishReason } from '@ai-sdk/provider'
import type {
  AnswerPart,
  CallableProvider,
  EmbeddingCall,
  FinishReason,
  ModelAnswer,
  ModelCall,
  ModelGateway,
  UsageMeter,
} from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Vault } from '../../routers/ports/vault.ts'
import { upstreamName } from './chat-model.ts'
import { isBrokenOff, isProvidersFault, isTimeout } from './circuit.ts'
import { Conversation } from './conversation.ts'
import { askEmbeddings } from './embeddings.ts'
import { listModels } from './model-listing.ts'
import { extraMembers } from './parameters.ts'
import { createProviderClient, openServers, type ProviderClient, type ProviderServer } from './provider-client.ts'
import { assertEnd, beginStream, forward, measureAnswer } from './provider-stream.ts'
import { sdkUsage } from './reported-usage.ts'
import { handedOut, Said } from './said.ts'

/** How often a model may call tools before it must answer, where its settings say nothing else. */
const MAX_TOOL_ROUNDS = 5

/** Calls providers through the AI SDK. Keeps one client per provider until its configuration changes. */
export function createGateway(vault: Vault, log: Log): ModelGateway & { close(): Promise<void> } {
  const clients = new Map<string, { of: ClientSource; client: ProviderClient }>()

  function clientFor(model: CallableProvider): ProviderClient {
    const of = sourceOf(model)
    const known = clients.get(model.providerId)
    if (known && isSame(known.of, of)) return known.client
    const client = createProviderClient(model, openServers(model, vault, log))
    clients.set(model.providerId, { of, client })
    void known?.client.close()
    return client
  }

  return {
    generate: (call, onUsage) => generate(clientFor(call.model), call, onUsage),
    stream: (call, onUsage) => stream(clientFor(call.model), call, onUsage),
    embed: (call, onUsage) => embed(clientFor(call.model), call, onUsage),
    listed: async (provider, statusUrl) => listModels(clientFor(provider), statusUrl),
    isProvidersFault,
    close: async () => void (await Promise.all([...clients.values()].map(({ client }) => client.close()))),
  }
}

type ClientSource = Omit<CallableProvider, 'providerId'>

const sourceOf = ({ adapter, apiUrl, apiKey, servers, providerSettings }: CallableProvider): ClientSource => ({
  adapter,
  apiUrl,
  apiKey,
  servers,
  providerSettings,
})

const isSame = (a: ClientSource, b: ClientSource) =>
  a.apiKey === b.apiKey &&
  a.apiUrl === b.apiUrl &&
  a.adapter === b.adapter &&
  isDeepStrictEqual([a.servers, a.providerSettings], [b.servers, b.providerSettings])

async function generate(client: ProviderClient, call: ModelCall, meter: UsageMeter): Promise<ModelAnswer> {
  const modelAt = (server: ProviderServer) => server.model(upstreamName(call.model), extraMembers(call.model))
  const conversation = new Conversation(call)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRounds ?? MAX_TOOL_ROUNDS
  const answer: ModelAnswer['content'][number][] = []
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const { content, usage, finishReason } = await client.attempt(
      (server) => metered(async () => modelAt(server).doGenerate(options), conversation, { meter, signal }),
      call,
    )
    measureAnswer(content, meter)
    meter.report(sdkUsage(usage))
    if (content.length === 0) assertEnd(finishReason)
    const said = Said.whole(content)
    answer.push(...said.answer)
    const callers = conversation.callersOf(said.calls)
    if (callers.length > 0 || said.calls.length === 0)
      return { content: [...answer, ...callers.map(handedOut)], finish: finishOf(finishReason, callers) }
    await conversation.runTools(said, signal)
  }
  throw new EndlessTools()
}

async function* stream(
  client: ProviderClient,
  call: ModelCall,
  meter: UsageMeter,
): AsyncGenerator<readonly AnswerPart[], void> {
  const modelAt = (server: ProviderServer) => server.model(upstreamName(call.model), extraMembers(call.model))
  const conversation = new Conversation(call)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRoundsStreaming ?? MAX_TOOL_ROUNDS
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const open = async (server: ProviderServer) => (await modelAt(server).doStream(options)).stream
    const parts = await client.attempt(
      (server) => metered(() => beginStream(() => open(server), meter), conversation, { meter, signal }),
      call,
    )
    const { said, finish } = yield* forward(parts, meter)
    const callers = conversation.callersOf(said.calls)
    if (callers.length > 0 || said.calls.length === 0)
      return yield [...callers.map(handedOut), { type: 'finish', reason: finishOf(finish, callers) }]
    await conversation.runTools(said, signal)
  }
  throw new EndlessTools()
}

async function embed(client: ProviderClient, call: EmbeddingCall, meter: UsageMeter): Promise<number[][]> {
  const { signal } = call
  const { embeddings, tokens } = await client.attempt(
    ({ connection }) => metered(() => askEmbeddings(connection, call), call, { meter, signal }),
    call,
  )
  meter.report({ input: tokens, output: 0 })
  return embeddings
}

/** Why the answer ended; calls of the caller's tools say so themselves, as not every server does. */
function finishOf({ unified }: LanguageModelV4FinishReason, callers: readonly unknown[]): FinishReason {
  if (callers.length > 0) return 'tool-calls'
  return unified === 'length' || unified === 'content-filter' ? unified : 'stop'
}

/** Counts every attempt, also one that was aborted or broke off: the provider has the question by then and may bill it. */
async function metered<T>(
  send: () => Promise<T>,
  { inputTokens }: { readonly inputTokens: number },
  { meter, signal }: { meter: UsageMeter; signal: AbortSignal },
): Promise<T> {
  await meter.begin(inputTokens)
  try {
    return await send()
  } catch (error) {
    if (!signal.aborted && !isTimeout(error) && !isBrokenOff(error)) meter.fail()
    throw error
  }
}

class EndlessTools extends Error {
  override name = 'EndlessTools'
}
