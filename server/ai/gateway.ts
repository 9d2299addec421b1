import type { LanguageModelV4FinishReason, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type {
  AnswerPart,
  CallableModel,
  EmbeddingCall,
  FinishReason,
  ModelAnswer,
  ModelCall,
  ModelGateway,
} from '../../routers/ports/ai/models.ts'
import type { UsageMeter } from '../../routers/ports/ai/usage-meter.ts'
import { AssistantMessage, CallIds, toToolCall, toToolUse } from './assistant-message.ts'
import { upstreamName } from './chat-model.ts'
import { isProvidersFault, isTimeout, isTruncated, refusalReason, wouldFailAgain } from './circuit.ts'
import { CitedPages } from './citations.ts'
import { Conversation } from './conversation.ts'
import { countTokens } from './count-tokens.ts'
import { assertAll, requestEmbeddings, splitIntoRequests } from './embeddings.ts'
import { assertEnd, isPaused, reasonOfWhole, stopSequenceIn, toFinishReason } from './finish-reason.ts'
import { listModels } from './model-listing.ts'
import { extraMembers } from './parameters.ts'
import { ProviderClients, type ProviderClientsOptions, type ProviderServer } from './provider-clients.ts'
import { beginStream, forward, measureAnswer } from './provider-stream.ts'
import { measureUnparsable, nativeUsesOfWhole, sdkUsage } from './reported-usage.ts'
import { withThoughtTags } from './thought-tags.ts'
import { UnsentParameters } from './unsent-parameters.ts'

/** How often a model may call tools before it must answer, where its settings say nothing else. */
const MAX_TOOL_ROUNDS = 5

/** Calls providers through the AI SDK. */
export function createGateway(options: ProviderClientsOptions): ModelGateway & { close(): Promise<void> } {
  const clients = new ProviderClients(options)
  const unsent = new UnsentParameters(options.log)
  return {
    findUnsentParameters: (model, parameters, circumstances) => unsent.find(model, parameters, circumstances),
    generate: (call, meter) => generate(clients, call, meter),
    stream: (call, meter) => stream(clients, call, meter),
    embed: (call, meter) => embed(clients, call, meter),
    async countTokens(call) {
      using taken = clients.take(call.model)
      return await countTokens(taken.client, call)
    },
    async listModels(provider, statusUrl) {
      using taken = clients.take(provider)
      return await listModels(taken.client, statusUrl)
    },
    isProviderFault: isProvidersFault,
    wouldFailAgain,
    classifyRefusal: refusalReason,
    recordOutages: (providers) => options.outages.note(providers),
    close: () => clients.close(),
  }
}

async function generate(clients: ProviderClients, call: ModelCall, meter: UsageMeter): Promise<ModelAnswer> {
  using taken = clients.take(call.model)
  const { client } = taken
  const modelAt = (server: ProviderServer) => createModel(server, call.model)
  const conversation = new Conversation(call)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRounds ?? MAX_TOOL_ROUNDS
  const answer: ModelAnswer['content'][number][] = []
  const cited = new CitedPages()
  const callIds = new CallIds()
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const { content, usage, response, providerMetadata, ...ended } = await client.attempt(
      (server) =>
        meterCalls(() => conversation.ask(async () => modelAt(server).doGenerate(options)), conversation, {
          meter,
          signal,
        }),
      call,
    )
    measureAnswer(content, meter)
    meter.reportTokens({ ...sdkUsage(usage), ...(call.nativeTools.length > 0 && nativeUsesOfWhole(response?.body)) })
    const finish = reasonOfWhole(ended.finishReason, content.length === 0)
    assertEnd(finish)
    const said = AssistantMessage.whole(content, { cited, callIds })
    answer.push(...said.answer)
    const unsettled = await unsettledCalls(said, finish, conversation)
    if (unsettled.length > 0 || !shouldContinue(said, finish, lastRound - round))
      return {
        content: [...answer, ...unsettled],
        finish: concludeFinish(finish, unsettled),
        ...findStopSequence(call, providerMetadata),
      }
    await conversation.appendTurn(said, signal)
    cited.after(said.spoken)
  }
  throw new EndlessTools()
}

async function* stream(
  clients: ProviderClients,
  call: ModelCall,
  meter: UsageMeter,
): AsyncGenerator<readonly AnswerPart[], void> {
  using taken = clients.take(call.model)
  const { client } = taken
  const modelAt = (server: ProviderServer) => createModel(server, call.model)
  const conversation = new Conversation(call)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRoundsStreaming ?? MAX_TOOL_ROUNDS
  const cited = new CitedPages()
  const callIds = new CallIds()
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const open = (server: ProviderServer) =>
      conversation.ask(async () => (await modelAt(server).doStream(options)).stream)
    const parts = await client.attempt(
      (server) => meterCalls(() => beginStream(() => open(server), meter), conversation, { meter, signal }),
      call,
    )
    const said = new AssistantMessage({ cited, callIds })
    const { finishReason: finish, providerMetadata } = yield* forward(parts, said, meter)
    const unsettled = await unsettledCalls(said, finish, conversation)
    if (unsettled.length > 0 || !shouldContinue(said, finish, lastRound - round))
      return yield [
        ...unsettled,
        { type: 'finish', reason: concludeFinish(finish, unsettled), ...findStopSequence(call, providerMetadata) },
      ]
    yield conversation.runnable(said.calls).map(toToolUse('service'))
    yield await conversation.appendTurn(said, signal)
    cited.after(said.spoken)
  }
  throw new EndlessTools()
}

const createModel = (server: ProviderServer, model: CallableModel) =>
  withThoughtTags(server.model(upstreamName(model), extraMembers(model)), model)

/** Each request is tried again and paid by itself, so that none is repeated for the failure of another. */
async function embed(clients: ProviderClients, call: EmbeddingCall, meter: UsageMeter): Promise<number[][]> {
  using taken = clients.take(call.model)
  const { signal } = call
  const found: number[][] = []
  for (const request of splitIntoRequests(call)) {
    const { embeddings, tokens } = await taken.client.attempt(
      ({ connection }) => meterCalls(() => requestEmbeddings(connection, request), request, { meter, signal }),
      request,
    )
    meter.reportTokens({ input: tokens, output: 0 })
    assertAll(embeddings, request)
    found.push(...embeddings)
  }
  return found
}

/** An answer that was cut, or that its provider would not say on, ends with its calls. */
const isCut = (finish: LanguageModelV4FinishReason): boolean =>
  !isPaused(finish) && ['length', 'content-filter'].includes(toFinishReason(finish) ?? '')

/** What others than the service are to settle: calls of the caller's tools, and questions whether a tool may be called. */
async function unsettledCalls(
  { calls }: AssistantMessage,
  finish: LanguageModelV4FinishReason,
  conversation: Conversation,
) {
  const callers = conversation.clientToolCalls(calls).map(toToolCall)
  return isCut(finish) ? callers : [...callers, ...(await conversation.pendingApprovals(calls))]
}

/** Whether the model is to be asked again: for what tools said, or for the rest of what it began to say. */
function shouldContinue(
  { calls, isEmpty }: AssistantMessage,
  finish: LanguageModelV4FinishReason,
  roundsLeft: number,
): boolean {
  if (isCut(finish)) return false
  return calls.length > 0 || (isPaused(finish) && !isEmpty && roundsLeft > 0)
}

/** Why the answer ended; calls that others are to settle say so themselves, as not every server does. */
function concludeFinish(finish: LanguageModelV4FinishReason, unsettled: readonly unknown[]): FinishReason {
  if (isCut(finish)) return toFinishReason(finish) ?? 'length'
  if (unsettled.length > 0) return 'tool-calls'
  return isPaused(finish) ? 'length' : 'stop'
}

function findStopSequence({ parameters }: ModelCall, metadata: SharedV4ProviderMetadata | undefined) {
  const stopSequence = stopSequenceIn(metadata, parameters.stop)
  return stopSequence === undefined ? {} : { stopSequence }
}

/** Counts every attempt, also one that was aborted or broke off: the provider has the question by then and may bill it. */
async function meterCalls<T>(
  send: () => Promise<T>,
  { inputTokens }: { readonly inputTokens: number },
  { meter, signal }: { meter: UsageMeter; signal: AbortSignal },
): Promise<T> {
  await meter.startRequest(inputTokens)
  try {
    return await send()
  } catch (error) {
    if (isTruncated(error)) measureUnparsable(error, meter)
    else if (!signal.aborted && !isTimeout(error)) meter.failRequest()
    throw error
  }
}

class EndlessTools extends Error {
  override name = 'EndlessTools'
}
