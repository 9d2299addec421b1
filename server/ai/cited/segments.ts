import type { LanguageModelV4Source, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import { z } from 'zod'

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

export const segmentsOf = ({ providerMetadata }: LanguageModelV4Source): Segment[] =>
  (providerMetadata?.[OURS]?.['segments'] ?? []) as Segment[]

/** The text of a segment and what stands before it; undefined where it is not there. */
export function spanOf({ startIndex, endIndex, text }: Segment, said: string) {
  const bytes = Buffer.from(said)
  const start = startIndex ?? 0
  const found = bytes.subarray(start, endIndex).toString()
  return text !== '' && found === text ? { before: bytes.subarray(0, start).toString(), text } : undefined
}
