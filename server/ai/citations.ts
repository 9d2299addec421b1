import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Citation,
  LanguageModelV4Source,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { z } from 'zod'
import type { Source, TextRange } from '../../routers/ports/ai/messages.ts'
import type { ChatModel, Part, PartBatch } from './chat-model.ts'

/**
 * Adds the pages that the provider fetched to the sources of an answer. The AI SDK reports them only in tool results or
 * metadata.
 */
export function withCitations(model: ChatModel): ChatModel {
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      if (!canFetchPages(options)) return answer
      const content = answer.content.flatMap((part) => [part, ...findPagesInPart(part)])
      return { ...answer, content: [...content, ...findPagesInMetadata(answer.providerMetadata)] }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: canFetchPages(options) ? addFetchedPages(stream) : stream }
    },
  }
}

async function* addFetchedPages(stream: AsyncIterable<PartBatch>): AsyncGenerator<PartBatch, void> {
  for await (const batch of stream)
    yield batch.flatMap<Part>((part) =>
      part.type === 'finish' ? [...findPagesInMetadata(part.providerMetadata), part] : [part, ...findPagesInPart(part)],
    )
}

const canFetchPages = ({ tools }: LanguageModelV4CallOptions): boolean =>
  tools?.some(({ type, name }) => type === 'provider' && (name === 'web_fetch' || name === 'url_context')) ?? false

/** Anthropic reports a fetched page as the result of its tool. */
function findPagesInPart(part: { type: string; toolName?: string; result?: unknown }): LanguageModelV4Source[] {
  if (part.type !== 'tool-result' || part.toolName !== 'web_fetch') return []
  const { url, content } = part.result as { url?: string; content?: { title?: string | null } }
  return url ? [toSource(url, content?.title ?? undefined)] : []
}

interface UrlContext {
  urlMetadata?: { retrievedUrl: string; urlRetrievalStatus: string }[] | null
}

/** Google reports fetched pages in the metadata of the answer. */
function findPagesInMetadata(metadata: SharedV4ProviderMetadata | undefined): LanguageModelV4Source[] {
  const context = metadata?.['google']?.['urlContextMetadata'] as UrlContext | null | undefined
  const fetched =
    context?.urlMetadata?.filter(({ urlRetrievalStatus: status }) => status === 'URL_RETRIEVAL_STATUS_SUCCESS') ?? []
  return fetched.map(({ retrievedUrl }) => toSource(retrievedUrl))
}

export const toSource = (url: string, title?: string): LanguageModelV4Source => ({
  type: 'source',
  sourceType: 'url',
  id: url,
  url,
  ...(title && { title }),
})

/** Adds to Google's sources which segments of the answer cite them. The AI SDK reports this only in the metadata. */
export function withGrounding(model: ChatModel): ChatModel {
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      if (!canSearch(options)) return answer
      const segments = groupSegmentsByPage(answer.providerMetadata)
      const content = answer.content.map((part) => (part.type === 'source' ? addSegments(part, segments) : part))
      return { ...answer, content }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: canSearch(options) ? groundSources(stream) : stream }
    },
  }
}

/** Only the end of a stream reports the segments, so the sources are held back until then. */
const groundSources = (stream: AsyncIterable<PartBatch>): AsyncIterable<PartBatch> =>
  moveSourcesToEnd(stream, (sources, { providerMetadata }) => {
    const segments = groupSegmentsByPage(providerMetadata)
    return sources.map((source) => addSegments(source, segments))
  })

/** Moves Anthropic's sources behind the text that cites them, because their positions are known only then. */
export function withDeferredSources(model: ChatModel): ChatModel {
  return {
    async doGenerate(options) {
      const answer = await model.doGenerate(options)
      if (!canSearch(options)) return answer
      const isSource = ({ type }: { type: string }) => type === 'source'
      const rest = answer.content.filter((part) => !isSource(part))
      return { ...answer, content: [...rest, ...answer.content.filter(isSource)] }
    },
    async doStream(options) {
      const { stream } = await model.doStream(options)
      return { stream: canSearch(options) ? moveSourcesToEnd(stream) : stream }
    },
  }
}

type FinishPart = Extract<Part, { type: 'finish' }>

async function* moveSourcesToEnd(
  stream: AsyncIterable<PartBatch>,
  transform = (sources: readonly LanguageModelV4Source[], _end: FinishPart): readonly LanguageModelV4Source[] =>
    sources,
): AsyncGenerator<PartBatch, void> {
  const sources: LanguageModelV4Source[] = []
  for await (const batch of stream) {
    const end = batch.find((part) => part.type === 'finish')
    sources.push(...batch.filter((part) => part.type === 'source'))
    yield [...(end ? transform(sources, end) : []), ...batch.filter((part) => part.type !== 'source')]
  }
}

const canSearch = ({ tools }: LanguageModelV4CallOptions): boolean =>
  tools?.some(({ type, name }) => type === 'provider' && (name === 'web_search' || name === 'google_search')) ?? false

/** Collects the pages that an answer cites, each reported once, and the ranges of its text that cite them. */
export class CitationTracker {
  readonly #reportedUrls = new Set<string>()
  readonly #rangesByUrl = new Map<string, TextRange[]>()
  /** Characters in all earlier rounds. */
  #offset = 0

  /** Adds the text of a finished round to the offset. */
  startNextRound(text: string): void {
    this.#offset += countCharacters(text)
  }

  /**
   * Adds the ranges of a text block that cite pages; `before` is the text of the round before the block. A citation
   * without a range covers the whole block, and a range outside it is ignored.
   */
  addCitations(citations: readonly LanguageModelV4Citation[], text: string, before: string): void {
    const length = countCharacters(text)
    for (const { source, startIndex: start = 0, endIndex: end = length } of citations) {
      if (source.sourceType !== 'url' || start < 0 || end <= start || end > length) continue
      this.#addRange(removeTrackingParameters(source.url), [start, end], this.#offset + countCharacters(before))
    }
  }

  /** Returns the source to report to the caller; undefined if its page was reported before. */
  addSource(source: LanguageModelV4Source, answerText: () => string): Source | undefined {
    if (source.sourceType !== 'url') return undefined
    const url = removeTrackingParameters(source.url)
    if (this.#reportedUrls.has(url)) return undefined
    this.#reportedUrls.add(url)
    for (const segment of segmentsOf(source)) {
      const span = findSpan(segment, answerText())
      if (span)
        this.#addRange(url, [countCharacters(span.before), countCharacters(span.before + span.text)], this.#offset)
    }
    const places = this.#rangesByUrl.get(url)
    return { type: 'source', url, ...(source.title && { title: source.title }), ...(places && { places }) }
  }

  #addRange(url: string, [start, end]: readonly [number, number], from: number): void {
    const places = this.#rangesByUrl.get(url) ?? []
    this.#rangesByUrl.set(url, places)
    places.push({ start: from + start, end: from + end })
  }
}

/** Counts code points, as providers do. */
const countCharacters = (text: string): number => [...text].length

/** Query parameters that only track where readers come from. */
const trackingParameters = /(?<=[?&])(?:utm_(?:source|medium|campaign|term|content)|gclid|fbclid)=[^&#]*&?/g

/** The result is only shown, and never requested. */
function removeTrackingParameters(url: string): string {
  const plain = url.replace(trackingParameters, '')
  return plain === url ? url : plain.replace(/[?&](?=#|$)/, '')
}

/** A segment of an answer as Google reports it, with offsets in bytes. */
const segment = z.object({ startIndex: z.int().min(0).nullish(), endIndex: z.int().min(0), text: z.string() })
type Segment = z.output<typeof segment>

const grounding = z.object({
  groundingChunks: z.array(z.object({ web: z.object({ uri: z.string() }).nullish() })),
  groundingSupports: z.array(
    z.object({ segment: segment.nullish().catch(null), groundingChunkIndices: z.array(z.int()).nullish() }),
  ),
})

/** Returns the segments that cite each page, by address. */
function groupSegmentsByPage(metadata: SharedV4ProviderMetadata | undefined): Map<string, Segment[]> {
  const { data } = grounding.safeParse(metadata?.['google']?.['groundingMetadata'])
  const cited = data?.groundingSupports.flatMap(({ segment, groundingChunkIndices }) =>
    (groundingChunkIndices ?? []).flatMap((at) => {
      const url = data.groundingChunks[at]?.web?.uri
      return url && segment ? { url, segment } : []
    }),
  )
  const byPage = Map.groupBy(cited ?? [], ({ url }) => url)
  return new Map([...byPage].map(([url, all]) => [url, all.map(({ segment }) => segment)]))
}

/** Key under which we store segments in the provider metadata of a source. */
const GROUNDING = 'grounding'

function addSegments(source: LanguageModelV4Source, byPage: Map<string, Segment[]>): LanguageModelV4Source {
  const segments = source.sourceType === 'url' ? byPage.get(source.url) : undefined
  if (!segments) return source
  return { ...source, providerMetadata: { ...source.providerMetadata, [GROUNDING]: { segments } } }
}

const segmentsOf = ({ providerMetadata }: LanguageModelV4Source): Segment[] =>
  (providerMetadata?.[GROUNDING]?.['segments'] ?? []) as Segment[]

/** Returns the text of a segment and the text before it; undefined if the answer does not have it at that place. */
function findSpan({ startIndex, endIndex, text }: Segment, answerText: string) {
  const bytes = Buffer.from(answerText)
  const start = startIndex ?? 0
  const actualText = bytes.subarray(start, endIndex).toString()
  return text !== '' && actualText === text ? { before: bytes.subarray(0, start).toString(), text } : undefined
}
