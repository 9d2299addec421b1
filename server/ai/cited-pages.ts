import type { LanguageModelV4Citation, LanguageModelV4Source, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { z } from 'zod'
import type { Place, Source } from '../../routers/ports/ai/messages.ts'

/** The pages that an answer cites, each of which is told of once, and where in its text it cites them. */
export class CitedPages {
  readonly #told = new Set<string>()
  readonly #places = new Map<string, Place[]>()
  /** Characters of the rounds before. */
  #from = 0

  /** Goes on after a round in which this was said. */
  after(text: string): void {
    this.#from += lengthOf(text)
  }

  /** Keeps where a text cites pages before which this was said in the round: all of it where no place is told. A place that is not in it is none. */
  note(citations: readonly LanguageModelV4Citation[], text: string, before: string): void {
    const most = lengthOf(text)
    for (const { source, startIndex: start = 0, endIndex: end = most } of citations) {
      if (source.sourceType !== 'url' || start < 0 || end <= start || end > most) continue
      this.#keep(withoutTracking(source.url), [start, end], this.#from + lengthOf(before))
    }
  }

  /** What the caller is told of a page, which is cited in what was said in the round; nothing of one that was told of. */
  tell(source: LanguageModelV4Source, said: () => string): Source | undefined {
    if (source.sourceType !== 'url') return undefined
    const url = withoutTracking(source.url)
    if (this.#told.has(url)) return undefined
    this.#told.add(url)
    for (const segment of segmentsOf(source)) {
      const span = findSpan(segment, said())
      if (span) this.#keep(url, [lengthOf(span.before), lengthOf(span.before + span.text)], this.#from)
    }
    const places = this.#places.get(url)
    return { type: 'source', url, ...(source.title && { title: source.title }), ...(places && { places }) }
  }

  #keep(url: string, [start, end]: readonly [number, number], from: number): void {
    const places = this.#places.get(url) ?? []
    this.#places.set(url, places)
    places.push({ start: from + start, end: from + end })
  }
}

/** As providers count characters. */
const lengthOf = (text: string): number => [...text].length

/** What tells a site by which advertisement or program its readers come. */
const tracking = /(?<=[?&])(?:utm_(?:source|medium|campaign|term|content)|gclid|fbclid)=[^&#]*&?/g

/** The address is changed as text alone: it is never asked for. */
function withoutTracking(url: string): string {
  const plain = url.replace(tracking, '')
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
export function segmentsByPage(metadata: SharedV4ProviderMetadata | undefined): Map<string, Segment[]> {
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
const OURS = 'grounding'

export function withSegments(source: LanguageModelV4Source, byPage: Map<string, Segment[]>): LanguageModelV4Source {
  const segments = source.sourceType === 'url' ? byPage.get(source.url) : undefined
  if (!segments) return source
  return { ...source, providerMetadata: { ...source.providerMetadata, [OURS]: { segments } } }
}

const segmentsOf = ({ providerMetadata }: LanguageModelV4Source): Segment[] =>
  (providerMetadata?.[OURS]?.['segments'] ?? []) as Segment[]

/** The text of a segment and what stands before it; undefined where it is not there. */
function findSpan({ startIndex, endIndex, text }: Segment, said: string) {
  const bytes = Buffer.from(said)
  const start = startIndex ?? 0
  const found = bytes.subarray(start, endIndex).toString()
  return text !== '' && found === text ? { before: bytes.subarray(0, start).toString(), text } : undefined
}
