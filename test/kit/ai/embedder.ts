import { createHash } from 'node:crypto'
import { startApp } from '../app.ts'
import { type Behaviour, type ProviderRequest, sendJson, startProvider, writeConfig } from './provider.ts'

/** Words of one meaning. */
const meanings = [
  ['car', 'automobile', 'vehicle'],
  ['doctor', 'physician', 'medic'],
  ['rain', 'drizzle', 'downpour'],
]

/** Makes a vector in which words of one meaning share a dimension, and other words have one of the others. */
function embedText(text: string, dimensions: number): number[] {
  const vector = Array<number>(dimensions).fill(0.001)
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    const meaning = meanings.findIndex((words) => words.includes(word))
    const other = createHash('sha256').update(word).digest().readUInt16LE() % (dimensions - meanings.length)
    const at = meaning < 0 ? meanings.length + other : meaning
    vector[at] = (vector[at] ?? 0) + (meaning < 0 ? 0.2 : 1)
  }
  return vector
}

/** The texts that a request embeds. */
export const readTexts = ({ body }: ProviderRequest): string[] => body['input'] as string[]

/** Counts a token for each fourth character. */
const countTokens = (texts: readonly string[]) => Math.ceil(texts.reduce((sum, { length }) => sum + length, 0) / 4)

/** Embeds by meaning. */
export const embedsMeaning: Behaviour = (received, response) => {
  const { body } = received
  const texts = readTexts(received)
  const dimensions = Number(body['dimensions'] ?? (body.model === 'new' ? 48 : 64))
  const data = texts.map((text, index) => ({ index, embedding: embedText(text, dimensions) }))
  sendJson(response, { object: 'list', data, model: body.model, usage: { prompt_tokens: countTokens(texts) } })
}

const pricing = { currency: 'EUR', inputPerMillion: 10_000, outputPerMillion: 0 }

/** Writes a configuration with two embedding models of a provider, and one for the assistants that have knowledge. */
export async function writeEmbedderConfig(url: string) {
  const config = await writeConfig(url)
  const models = ['old', 'new'].map((id) => ({ id, label: id, modelType: 'embedding', external: true, pricing }))
  const chat = { id: 'mock-1', label: 'Mock', external: true }
  const provider = { id: 'house', adapter: 'openai-compatible', apiUrl: url, models: [chat, ...models] }
  await config.write({ providers: [provider], systemModels: {} })
  return config
}

/** Starts a provider of two embedding models, and a service whose knowledge is searched by the first. */
export async function startWithEmbedder(settings: Record<string, string> = {}) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(embedsMeaning))
  const config = resources.use(await writeEmbedderConfig(upstream.url))
  const env = { AI_CONFIG: config.file, KNOWLEDGE_EMBEDDING_MODEL: 'old', ...settings }
  const svc = resources.use(await startApp(env))
  const disposables = resources.move()
  return {
    svc,
    upstream,
    env,
    /** Returns the requests that embed passages, in which every text has the name of its file above it. */
    listPassageRequests: () =>
      upstream.requests.filter((request) => readTexts(request).some((text) => text.includes('\n'))),
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}
