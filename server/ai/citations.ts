import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Citation,
  LanguageModelV4Source,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { z } from 'zod'
import type { Source, TextRange } from '../../routers/ports/ai/messages.ts'
import type { ChatModel, Part, PartBatch } from './chat-model.ts'

/** A model whose answers cite the pages that its provider fetched: the AI SDK tells of these beside the answer only. */
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

/** What Anthropic fetched is the result of its tool. */
function findPagesInPart(part: { type: string; toolName?: string; result?: unknown }): LanguageModelV4Source[] {
  if (part.type !== 'tool-result' || part.toolName !== 'web_fetch') return []
  const { url, content } = part.result as { url?: string; content?: { title?: string | null } }
  return url ? [toSource(url, content?.title ?? undefined)] : []
}

interface UrlContext {
  urlMetadata?: { retrievedUrl: string; urlRetrievalStatus: string }[] | null
}

/** What Google fetched stands beside its answer. */
function findPagesInMetadata(metadata: SharedV4ProviderMetadata | undefined): LanguageModelV4Source[] {
  const context = metadata?.['google']?.['urlContextMetadata'] as UrlContext | null | undefined
  const fetched =
    context?.urlMetadata?.filter(({ urlRetrievalStatus: status }) => status === 'URL_RETRIEVAL_STATUS_SUCCESS') ?? []
  return fetched.map(({ retrievedUrl }) => toSource(retrievedUrl))
}

const toSource = (url: string, title?: string): LanguageModelV4Source => ({
  ...{ type: 'source', sourceType: 'url', id: url, url },
  ...(title && { title }),
})

/** A model of Google, whose sources say which pieces of the answer they are of: the AI SDK tells this beside the answer only. */
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

/** The end says where the sources belong. */
const groundSources = (stream: AsyncIterable<PartBatch>): AsyncIterable<PartBatch> =>
  moveSourcesToEnd(stream, (sources, { providerMetadata }) => {
    const segments = groupSegmentsByPage(providerMetadata)
    return sources.map((source) => addSegments(source, segments))
  })

/** A model of Anthropic, whose sources come before the texts that cite them: they are told after these, as only then it is known where. */
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

/** The pages that an answer cites, each of which is told of once, and where in its text it cites them. */
export class CitationTracker {
  readonly #reportedUrls = new Set<string>()
  readonly #rangesByUrl = new Map<string, TextRange[]>()
  /** Characters of the rounds before. */
  #offset = 0

  /** Goes on after a round in which this was said. */
  startNextRound(text: string): void {
    this.#offset += countCharacters(text)
  }

  /** Keeps where a text cites pages before which this was said in the round: all of it where no place is told. A place that is not in it is none. */
  addCitations(citations: readonly LanguageModelV4Citation[], text: string, before: string): void {
    const length = countCharacters(text)
    for (const { source, startIndex: start = 0, endIndex: end = length } of citations) {
      if (source.sourceType !== 'url' || start < 0 || end <= start || end > length) continue
      this.#addRange(removeTrackingParameters(source.url), [start, end], this.#offset + countCharacters(before))
    }
  }

  /** What the caller is told of a page, which is cited in what was said in the round; nothing of one that was told of. */
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

/** As providers count characters. */
const countCharacters = (text: string): number => [...text].length

/** What tells a site by which advertisement or program its readers come. */
const trackingParameters = /(?<=[?&])(?:utm_(?:source|medium|campaign|term|content)|gclid|fbclid)=[^&#]*&?/g

/** The address is changed as text alone: it is never asked for. */
function removeTrackingParameters(url: string): string {
  const plain = url.replace(trackingParameters, '')
  return plain === url ? url : plain.replace(/[?&](?=#|$)/, '')
}

/** A piece of an answer in bytes of its text, which Google tells beside the answer. */
const segment = z.object({ startIndex: z.int().min(0).nullish(), endIndex: z.int().min(0), text: z.string() })
type Segment = z.output<typeof segment>

const grounding = z.object({
  groundingChunks: z.array(z.object({ web: z.object({ uri: z.string() }).nullish() })),
  groundingSupports: z.array(
    z.object({ segment: segment.nullish().catch(null), groundingChunkIndices: z.array(z.int()).nullish() }),
  ),
})

/** The segments that cite each page. */
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

/** Our name among what providers say of a source. */
const GROUNDING = 'grounding'

function addSegments(source: LanguageModelV4Source, byPage: Map<string, Segment[]>): LanguageModelV4Source {
  const segments = source.sourceType === 'url' ? byPage.get(source.url) : undefined
  if (!segments) return source
  return { ...source, providerMetadata: { ...source.providerMetadata, [GROUNDING]: { segments } } }
}

const segmentsOf = ({ providerMetadata }: LanguageModelV4Source): Segment[] =>
  (providerMetadata?.[GROUNDING]?.['segments'] ?? []) as Segment[]

/** The text of a segment and what stands before it; undefined where it is not there. */
function findSpan({ startIndex, endIndex, text }: Segment, answerText: string) {
  const bytes = Buffer.from(answerText)
  const start = startIndex ?? 0
  const found = bytes.subarray(start, endIndex).toString()
  return text !== '' && found === text ? { before: bytes.subarray(0, start).toString(), text } : undefined
}
