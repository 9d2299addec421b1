import type { LanguageModelV4ToolResult, LanguageModelV4Usage } from '@ai-sdk/provider'
import { MAX_PAGE_TOKENS } from '../../routers/ports/ai/adapters.ts'
import { estimatePageTokens, estimateTokens } from '../../routers/ports/ai/token-estimate.ts'
import type { ReportedTokens, UsageMeter } from '../../routers/ports/ai/usage-meter.ts'
import { tryParseJson } from '../../routers/ports/json.ts'

/** Reads the token counts in an event of a provider's stream; undefined if it has none. */
export type UsageReader = (event: unknown) => ReportedTokens | undefined

/** Ignores invalid counts. Some servers write numbers as text. */
const toCount = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && value.trim() ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? Math.round(number) : undefined
}

type Members = Record<string, unknown>

const readList = (value: unknown, name: string): unknown[] => {
  const list = readObject(value, name)
  return Array.isArray(list) ? list : []
}

const readObject = (value: unknown, name: string): Members | undefined => {
  const object = (value as Members | null | undefined)?.[name]
  return typeof object === 'object' && object !== null ? (object as Members) : undefined
}

/** Chat completions report usage at the top, in a choice, or in a member of the server's own. */
const findUsage = (event: unknown): Members | undefined =>
  readObject(event, 'usage') ??
  readObject(readList(event, 'choices')[0], 'usage') ??
  readObject(readObject(event, 'x_groq'), 'usage')

/** Reads chat completions, with a running total if the server sends one. */
export const readCompletionUsage: UsageReader = (event) => {
  const usage = findUsage(event)
  if (!usage) return undefined
  const details = readObject(usage, 'prompt_tokens_details') ?? readObject(usage, 'prompt_token_details')
  const reasoning = readObject(usage, 'completion_tokens_details')?.['reasoning_tokens'] ?? usage['reasoning_tokens']
  const [cached, hit] = [details?.['cached_tokens'] ?? usage['cached_tokens'], usage['prompt_cache_hit_tokens']]
  return {
    ...reconcileTotal(
      toCount(usage['prompt_tokens']),
      toCount(usage['completion_tokens']),
      toCount(usage['total_tokens']),
    ),
    cached: toCount(usage['num_cached_tokens']) ?? toCount(cached) ?? toCount(hit),
    cacheWrite: toCount(details?.['cache_write_tokens']),
    reasoning: toCount(reasoning),
  }
}

/** Some servers count reasoning only in the total, some send only the total, and a count of zero means unknown. */
function reconcileTotal(input: number | undefined, output: number | undefined, total = 0): ReportedTokens {
  if (total <= (input ?? 0) + (output ?? 0)) return { input, output }
  if (input) return { input, output: total - input, total }
  return output ? { input: total - output, output } : { total }
}

/** Converts counts to those of the AI SDK, which would read a missing count as zero. */
export function toSdkUsage(tokens: ReportedTokens = {}): LanguageModelV4Usage {
  const { input, output, cached, cacheWrite, reasoning, total } = tokens
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: cached, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
    ...(total !== undefined && { raw: { total_tokens: total } }),
  }
}

/** Reads OpenAI's Responses API: every final event has the total. */
export const readResponsesUsage: UsageReader = (event) => {
  const usage = readObject(readObject(event, 'response'), 'usage')
  if (!usage) return undefined
  const details = readObject(usage, 'input_tokens_details')
  return {
    input: toCount(usage['input_tokens']),
    output: toCount(usage['output_tokens']),
    cached: toCount(details?.['cached_tokens']),
    cacheWrite: toCount(details?.['cache_write_tokens']),
    reasoning: toCount(readObject(usage, 'output_tokens_details')?.['reasoning_tokens']),
  }
}

/** Anthropic reports the input when a message starts, and the output so far with each delta. */
export const readAnthropicUsage: UsageReader = (event) => {
  const startUsage = readObject(readObject(event, 'message'), 'usage')
  if (startUsage) return readAnthropicInput(startUsage)
  const usage = readObject(event, 'usage')
  if (!usage) return undefined
  const { input, cached, cacheWrite } = readAnthropicInput(usage)
  return {
    // The input counts only if all its parts are here.
    ...(cached !== undefined && cacheWrite !== undefined && { input, cached, cacheWrite }),
    output: toCount(usage['output_tokens']),
    reasoning: toCount(readObject(usage, 'output_tokens_details')?.['thinking_tokens']),
    webSearches: toCount(readObject(usage, 'server_tool_use')?.['web_search_requests']),
    webFetches: toCount(readObject(usage, 'server_tool_use')?.['web_fetch_requests']),
  }
}

/** Anthropic's input count excludes cached tokens, both read and written, so they are added. */
function readAnthropicInput(usage: Members): ReportedTokens {
  const input = toCount(usage['input_tokens'])
  const cached = toCount(usage['cache_read_input_tokens'])
  const cacheWrite = toCount(usage['cache_creation_input_tokens'])
  if (input === undefined) return {}
  return { input: input + (cached ?? 0) + (cacheWrite ?? 0), cached, cacheWrite }
}

/** Google repeats the running total in each event. */
export const readGoogleUsage: UsageReader = (event) => {
  const usage = readObject(event, 'usageMetadata')
  const uses = readGoogleToolUses(event)
  if (!usage) return uses
  const [answer, reasoning] = [toCount(usage['candidatesTokenCount']), toCount(usage['thoughtsTokenCount'])]
  const [prompt, tools] = [toCount(usage['promptTokenCount']), toCount(usage['toolUsePromptTokenCount'])]
  return {
    input: prompt === undefined ? undefined : prompt + (tools ?? 0),
    output: answer === undefined && reasoning === undefined ? undefined : (answer ?? 0) + (reasoning ?? 0),
    cached: toCount(usage['cachedContentTokenCount']),
    reasoning,
    ...uses,
  }
}

const isFetched = (page: unknown) =>
  (page as { urlRetrievalStatus?: unknown } | null)?.urlRetrievalStatus === 'URL_RETRIEVAL_STATUS_SUCCESS'

/** Google reports its searches and fetched pages in the metadata, and bills each different query that is not empty. */
function readGoogleToolUses(event: unknown): ReportedTokens | undefined {
  const [candidate] = readList(event, 'candidates')
  const grounding = readObject(candidate, 'groundingMetadata')
  const context = readObject(candidate, 'urlContextMetadata')
  if (!grounding && !context) return undefined
  const queries = new Set(readList(grounding, 'webSearchQueries').filter((query) => query !== ''))
  const hasFound = readList(grounding, 'groundingChunks').some((chunk) => readObject(chunk, 'web'))
  return {
    // Undefined keeps the count of an earlier event.
    webSearches: Math.max(queries.size, hasFound ? 1 : 0) || undefined,
    webFetches: readList(context, 'urlMetadata').filter(isFetched).length || undefined,
  }
}

/** Reads the total of a response that was not streamed, in any protocol. Readers of other protocols find nothing. */
export function readUsageOfResponse(body: unknown): ReportedTokens {
  const events: [UsageReader, unknown][] = [
    [readCompletionUsage, body],
    [readResponsesUsage, { response: body }],
    [readAnthropicUsage, body],
    [readAnthropicUsage, { message: body }],
    [readGoogleUsage, body],
  ]
  const entries = events.flatMap(([read, event]) => Object.entries(read(event) ?? {}))
  return Object.fromEntries(entries.filter(([, tokens]) => tokens !== undefined))
}

/** Returns the uses of provider tools in a response that was not streamed, which the AI SDK leaves out. */
export function readToolUsesOfResponse(body: unknown): ReportedTokens {
  const { webSearches, webFetches } = readUsageOfResponse(body)
  return { webSearches, webFetches }
}

/** Reads the total from the AI SDK. */
export const fromSdkUsage = ({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): ReportedTokens => ({
  input: toCount(inputTokens.total),
  output: toCount(outputTokens.total),
  cached: toCount(inputTokens.cacheRead),
  cacheWrite: toCount(inputTokens.cacheWrite),
  reasoning: toCount(outputTokens.reasoning),
  total: toCount(raw?.['total_tokens']),
})

/** Estimates the input tokens of a provider tool's result. */
export function countFoundTokens({ toolName, result }: LanguageModelV4ToolResult): number {
  const tokens = estimateValueTokens(result)
  return toolName === 'web_fetch' ? Math.min(tokens, MAX_PAGE_TOKENS) : tokens
}

function estimateValueTokens(value: unknown): number {
  if (typeof value === 'string') return estimateTokens(value)
  if (typeof value !== 'object' || value === null) return 0
  const { type, data, encryptedContent, ...others } = value as Record<string, unknown>
  const rest = Object.values(others).reduce<number>((sum, one) => sum + estimateValueTokens(one), 0)
  return (
    rest +
    (type === 'base64' ? estimatePageTokens(countBytes(data)) : estimateValueTokens(data)) +
    countBytes(encryptedContent) / 4
  )
}

/** Encrypted texts and documents are base64. */
const countBytes = (base64: unknown): number => (typeof base64 === 'string' ? (base64.length / 4) * 3 : 0)

/** Matches the members in which providers send text; `reasoning_details` has reasoning in members `text`. */
const textMembers =
  /"(?:(reasoning_details)"|(content|text|thinking|reasoning|reasoning_content|arguments|delta)"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*))/g

/** Maximum number of characters to read, more than any answer has. */
const MAX_READ = 1_000_000

/** Counts the text and usage in a response that cannot be read. */
export function meterUnparsable(error: unknown, meter: UsageMeter): void {
  const { responseBody } = error as { responseBody?: unknown }
  if (typeof responseBody !== 'string') return
  for (const text of findTexts(responseBody.slice(0, MAX_READ))) meter.recordText(text, 'answer')
  meter.reportTokens(readUsageOfResponse(tryParseJson(responseBody)))
}

const reasoningMembers = new Set(['reasoning', 'reasoning_content', 'reasoning_details'])

function* findTexts(body: string): Generator<string, void> {
  const isRepeated = createRepetitionFilter()
  let isInDetails = false
  for (const [, details, name = '', text = ''] of body.matchAll(textMembers)) {
    isInDetails = details !== undefined || (isInDetails && name === 'text')
    if (!details && !isRepeated(isInDetails ? 'reasoning_details' : name, text)) yield text
  }
}

/** Returns a function that detects reasoning that a server repeats in several members, one after the other. */
function createRepetitionFilter() {
  let last = ''
  const members = new Set<string>()
  return (member: string, text: string): boolean => {
    if (!reasoningMembers.has(member)) return false
    const isRepeated = text === last && members.size > 0 && !members.has(member)
    if (!isRepeated) members.clear()
    members.add(member)
    last = text
    return isRepeated
  }
}
