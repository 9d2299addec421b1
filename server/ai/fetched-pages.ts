import type { LanguageModelV4CallOptions, LanguageModelV4Source, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { ChatModel } from './chat-model.ts'
import type { Part, PartBatch } from './provider-stream.ts'

/** A model whose answers cite the pages that its provider fetched: the AI SDK tells of these beside the answer only. */
export function citingPages(model: ChatModel): ChatModel {
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
