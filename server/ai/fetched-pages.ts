import type { LanguageModelV4CallOptions, LanguageModelV4Source, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { ChatModel } from './chat-model.ts'
import { segmentsByPage, withSegments } from './cited-pages.ts'
import type { Part, PartBatch } from './provider-stream.ts'

/** A model whose answers cite the pages that its provider fetched: the AI SDK tells of these beside the answer only. */
export function withCitations(model: ChatModel): ChatModel {
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      if (!mayFetch(options)) return answer
      const content = answer.content.flatMap((part) => [part, ...pagesIn(part)])
      return { ...answer, content: [...content, ...pagesBeside(answer.providerMetadata)] }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: mayFetch(options) ? citing(stream) : stream }
    },
  }
}

async function* citing(stream: AsyncIterable<PartBatch>): AsyncGenerator<PartBatch, void> {
  for await (const batch of stream)
    yield batch.flatMap<Part>((part) =>
      part.type === 'finish' ? [...pagesBeside(part.providerMetadata), part] : [part, ...pagesIn(part)],
    )
}

const mayFetch = ({ tools }: LanguageModelV4CallOptions): boolean =>
  tools?.some(({ type, name }) => type === 'provider' && (name === 'web_fetch' || name === 'url_context')) ?? false

/** What Anthropic fetched is the result of its tool. */
function pagesIn(part: { type: string; toolName?: string; result?: unknown }): LanguageModelV4Source[] {
  if (part.type !== 'tool-result' || part.toolName !== 'web_fetch') return []
  const { url, content } = part.result as { url?: string; content?: { title?: string | null } }
  return url ? [source(url, content?.title ?? undefined)] : []
}

interface UrlContext {
  urlMetadata?: { retrievedUrl: string; urlRetrievalStatus: string }[] | null
}

/** What Google fetched stands beside its answer. */
function pagesBeside(metadata: SharedV4ProviderMetadata | undefined): LanguageModelV4Source[] {
  const context = metadata?.['google']?.['urlContextMetadata'] as UrlContext | null | undefined
  const fetched =
    context?.urlMetadata?.filter(({ urlRetrievalStatus: status }) => status === 'URL_RETRIEVAL_STATUS_SUCCESS') ?? []
  return fetched.map(({ retrievedUrl }) => source(retrievedUrl))
}

const source = (url: string, title?: string): LanguageModelV4Source => ({
  ...{ type: 'source', sourceType: 'url', id: url, url },
  ...(title && { title }),
})

/** A model of Google, whose sources say which pieces of the answer they are of: the AI SDK tells this beside the answer only. */
export function withGrounding(model: ChatModel): ChatModel {
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      if (!maySearch(options)) return answer
      const segments = segmentsByPage(answer.providerMetadata)
      const content = answer.content.map((part) => (part.type === 'source' ? withSegments(part, segments) : part))
      return { ...answer, content }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: maySearch(options) ? grounded(stream) : stream }
    },
  }
}

/** The end says where the sources belong. */
const grounded = (stream: AsyncIterable<PartBatch>): AsyncIterable<PartBatch> =>
  sourcesLast(stream, (sources, { providerMetadata }) => {
    const segments = segmentsByPage(providerMetadata)
    return sources.map((source) => withSegments(source, segments))
  })

/** A model of Anthropic, whose sources come before the texts that cite them: they are told after these, as only then it is known where. */
export function withDeferredSources(model: ChatModel): ChatModel {
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      if (!maySearch(options)) return answer
      const isSource = ({ type }: { type: string }) => type === 'source'
      const rest = answer.content.filter((part) => !isSource(part))
      return { ...answer, content: [...rest, ...answer.content.filter(isSource)] }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: maySearch(options) ? sourcesLast(stream) : stream }
    },
  }
}

type End = Extract<Part, { type: 'finish' }>

async function* sourcesLast(
  stream: AsyncIterable<PartBatch>,
  told = (sources: readonly LanguageModelV4Source[], _end: End): readonly LanguageModelV4Source[] => sources,
): AsyncGenerator<PartBatch, void> {
  const sources: LanguageModelV4Source[] = []
  for await (const batch of stream) {
    const end = batch.find((part) => part.type === 'finish')
    sources.push(...batch.filter((part) => part.type === 'source'))
    yield [...(end ? told(sources, end) : []), ...batch.filter((part) => part.type !== 'source')]
  }
}

const maySearch = ({ tools }: LanguageModelV4CallOptions): boolean =>
  tools?.some(({ type, name }) => type === 'provider' && (name === 'web_search' || name === 'google_search')) ?? false
