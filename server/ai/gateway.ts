import type { LanguageModelV4FinishReason, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type {
  AnswerLogprob,
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
import { getUpstreamName } from './chat-model.ts'
import { classifyRefusal, isProviderFault, isTimeout, isTruncated, wouldFailAgain } from './circuit.ts'
import { CitationTracker } from './citations.ts'
import { Conversation } from './conversation.ts'
import { countTokens } from './count-tokens.ts'
import { assertComplete, requestEmbeddings, splitIntoRequests } from './embeddings.ts'
import { assertFinished, findStopSequence, inferFinishReason, isPaused, toFinishReason } from './finish-reason.ts'
import { listModels } from './model-listing.ts'
import { pickExtraMembers } from './parameters.ts'
import { ProviderClients, type ProviderClientsOptions, type ProviderServer } from './provider-clients.ts'
import { beginStream, forwardParts, meterContent } from './provider-stream.ts'
import { fromSdkUsage, meterUnparsable, readToolUsesOfResponse } from './reported-usage.ts'
import { withThoughtTags } from './thought-tags.ts'
import { UnsentParameters } from './unsent-parameters.ts'

/** Rounds of tool calls that a model may use by default. */
const MAX_TOOL_ROUNDS = 5

/** Creates the gateway that calls providers through the AI SDK. */
export function createGateway(options: ProviderClientsOptions): ModelGateway & { close(): Promise<void> } {
  const clients = new ProviderClients(options)
  const unsent = new UnsentParameters(options.log)
  return {
    findUnsentParameters: (model, parameters, circumstances) => unsent.find(model, parameters, circumstances),
    generate: (call, meter) => generate(clients, call, meter),
    stream: (call, meter) => stream(clients, call, meter),
    embed: (call, meter) => embed(clients, call, meter),
    async countTokens(call) {
      using lease = clients.acquire(call.model)
      return await countTokens(lease.client, call)
    },
    async listModels(provider, statusUrl) {
      using lease = clients.acquire(provider)
      return await listModels(lease.client, statusUrl)
    },
    isProviderFault,
    wouldFailAgain,
    classifyRefusal,
    recordOutages: (providers) => options.outages.setKnownOutages(providers),
    close: () => clients.close(),
  }
}

async function generate(clients: ProviderClients, call: ModelCall, meter: UsageMeter): Promise<ModelAnswer> {
  using lease = clients.acquire(call.model)
  const { client } = lease
  const createModelAt = (server: ProviderServer) => createModel(server, call.model)
  const conversation = new Conversation(call)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRounds ?? MAX_TOOL_ROUNDS
  const answer: ModelAnswer['content'][number][] = []
  const citations = new CitationTracker()
  const callIds = new CallIds()
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.buildOptions(signal, round === lastRound)
    const generateAt = (server: ProviderServer) =>
      conversation.runWithFiles(async () => createModelAt(server).doGenerate(options))
    const { content, usage, response, providerMetadata, ...rest } = await client.attempt(
      (server) => meterAttempt(() => generateAt(server), conversation, { meter, signal }),
      call,
    )
    meterContent(content, meter)
    meter.reportTokens({
      ...fromSdkUsage(usage),
      ...(call.nativeTools.length > 0 && readToolUsesOfResponse(response?.body)),
    })
    const finish = inferFinishReason(rest.finishReason, content.length === 0)
    assertFinished(finish)
    const message = AssistantMessage.fromContent(content, { citations, callIds })
    answer.push(...message.content)
    const pending = await findPendingCalls(message, finish, conversation)
    if (pending.length > 0 || !shouldContinue(message, finish, lastRound - round))
      return {
        content: [...answer, ...pending],
        finish: concludeFinish(finish, pending),
        ...readEndDetails(call, providerMetadata),
      }
    await conversation.appendTurn(message, signal)
    citations.startNextRound(message.answerText)
  }
  throw new ToolRoundLimitError()
}

async function* stream(
  clients: ProviderClients,
  call: ModelCall,
  meter: UsageMeter,
): AsyncGenerator<readonly AnswerPart[], void> {
  using lease = clients.acquire(call.model)
  const { client } = lease
  const createModelAt = (server: ProviderServer) => createModel(server, call.model)
  const conversation = new Conversation(call)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRoundsStreaming ?? MAX_TOOL_ROUNDS
  const citations = new CitationTracker()
  const callIds = new CallIds()
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.buildOptions(signal, round === lastRound)
    const open = (server: ProviderServer) =>
      conversation.runWithFiles(async () => (await createModelAt(server).doStream(options)).stream)
    const parts = await client.attempt(
      (server) => meterAttempt(() => beginStream(() => open(server), meter), conversation, { meter, signal }),
      call,
    )
    const message = new AssistantMessage({ citations, callIds })
    const { finishReason: finish, providerMetadata } = yield* forwardParts(parts, message, meter)
    const pending = await findPendingCalls(message, finish, conversation)
    if (pending.length > 0 || !shouldContinue(message, finish, lastRound - round))
      return yield [
        ...pending,
        { type: 'finish', reason: concludeFinish(finish, pending), ...readEndDetails(call, providerMetadata) },
      ]
    yield conversation.findRunnableCalls(message.calls).map(toToolUse('service'))
    yield await conversation.appendTurn(message, signal)
    citations.startNextRound(message.answerText)
  }
  throw new ToolRoundLimitError()
}

const createModel = (server: ProviderServer, model: CallableModel) =>
  withThoughtTags(server.model(getUpstreamName(model), pickExtraMembers(model)), model)

/** Each request is retried and billed by itself, so that a failure does not repeat the others. */
async function embed(clients: ProviderClients, call: EmbeddingCall, meter: UsageMeter): Promise<number[][]> {
  using lease = clients.acquire(call.model)
  const { signal } = call
  const results: number[][] = []
  for (const request of splitIntoRequests(call)) {
    const { embeddings, tokens } = await lease.client.attempt(
      ({ connection }) => meterAttempt(() => requestEmbeddings(connection, request), request, { meter, signal }),
      request,
    )
    meter.reportTokens({ input: tokens, output: 0 })
    assertComplete(embeddings, request)
    results.push(...embeddings)
  }
  return results
}

/** True if the answer was cut by its length or a content filter. No tools run then. */
const isCut = (finish: LanguageModelV4FinishReason): boolean =>
  !isPaused(finish) && ['length', 'content-filter'].includes(toFinishReason(finish) ?? '')

/**
 * Returns what the service cannot settle itself: calls of the client's tools, and approvals that a person has to give.
 */
async function findPendingCalls(
  { calls }: AssistantMessage,
  finish: LanguageModelV4FinishReason,
  conversation: Conversation,
) {
  const clientCalls = conversation.findClientToolCalls(calls).map(toToolCall)
  return isCut(finish) ? clientCalls : [...clientCalls, ...(await conversation.findPendingApprovals(calls))]
}

/** Returns true if another round follows: with tool results, or to continue a paused answer. */
function shouldContinue(
  { calls, isEmpty }: AssistantMessage,
  finish: LanguageModelV4FinishReason,
  roundsLeft: number,
): boolean {
  if (isCut(finish)) return false
  return calls.length > 0 || (isPaused(finish) && !isEmpty && roundsLeft > 0)
}

/**
 * Returns why the answer ended. Pending calls override the reason of the provider, as not every server reports them.
 */
function concludeFinish(finish: LanguageModelV4FinishReason, pending: readonly unknown[]): FinishReason {
  if (isCut(finish)) return toFinishReason(finish) ?? 'length'
  if (pending.length > 0) return 'tool-calls'
  return isPaused(finish) ? 'length' : 'stop'
}

function readEndDetails({ parameters }: ModelCall, metadata: SharedV4ProviderMetadata | undefined) {
  const stopSequence = findStopSequence(metadata, parameters.stop)
  const logprobs = parameters.logprobs ? metadata?.['compatible']?.['logprobs'] : undefined
  return {
    ...(stopSequence !== undefined && { stopSequence }),
    ...(logprobs !== undefined && { logprobs: logprobs as unknown as readonly AnswerLogprob[] }),
  }
}

/**
 * Counts every attempt, even one that was aborted or truncated: the provider has received the input and may bill it.
 */
async function meterAttempt<T>(
  send: () => Promise<T>,
  { inputTokens }: { readonly inputTokens: number },
  { meter, signal }: { meter: UsageMeter; signal: AbortSignal },
): Promise<T> {
  await meter.startRequest(inputTokens)
  try {
    return await send()
  } catch (error) {
    if (isTruncated(error)) meterUnparsable(error, meter)
    else if (!signal.aborted && !isTimeout(error)) meter.failRequest()
    throw error
  }
}

class ToolRoundLimitError extends Error {
  override name = 'ToolRoundLimitError'
}
