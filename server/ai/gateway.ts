import { isDeepStrictEqual } from 'node:util'
import type { CallableModel, Meter, ModelCall, ModelGateway } from '../../routers/ports/models.ts'
import { API_KEY, type Vault } from '../../routers/ports/vault.ts'
import { Conversation } from './conversation.ts'
import { isListed } from './model-listing.ts'
import { extraMembers } from './parameters.ts'
import { createLink, type ProviderLink } from './provider-link.ts'
import { beginStream, relay } from './provider-stream.ts'

/** How often a model may call tools before it must answer, where its settings say nothing else. */
const MAX_TOOL_ROUNDS = 5

/** Providers through the AI SDK. One link per provider is kept until what it was made from changes. */
export function createGateway(vault: Vault): ModelGateway & { close(): Promise<void> } {
  const links = new Map<string, { of: LinkSource; link: ProviderLink }>()

  function linkTo(model: CallableModel): ProviderLink {
    const of = sourceOf(model)
    const known = links.get(model.providerId)
    if (known && isSame(known.of, of)) return known.link
    const link = createLink(model, model.apiKey ? vault.open(model.apiKey, API_KEY) : undefined)
    links.set(model.providerId, { of, link })
    void known?.link.close()
    return link
  }

  return {
    generate: (call, meter) => generate(linkTo(call.model), call, meter),
    stream: (call, meter) => stream(linkTo(call.model), call, meter),
    available: (model) => isListed(linkTo(model), upstreamName(model)),
    close: async () => void (await Promise.all([...links.values()].map(({ link }) => link.close()))),
  }
}

type LinkSource = Pick<CallableModel, 'adapter' | 'apiUrl' | 'apiKey' | 'providerSettings'>

const sourceOf = ({ adapter, apiUrl, apiKey, providerSettings }: CallableModel): LinkSource => ({
  adapter,
  apiUrl,
  apiKey,
  providerSettings,
})

const isSame = (a: LinkSource, b: LinkSource) =>
  a.apiKey === b.apiKey &&
  a.apiUrl === b.apiUrl &&
  a.adapter === b.adapter &&
  isDeepStrictEqual(a.providerSettings, b.providerSettings)

const upstreamName = ({ upstreamId, modelId }: CallableModel) => upstreamId ?? modelId

async function generate(link: ProviderLink, call: ModelCall, meter: Meter): Promise<string> {
  const model = link.model(upstreamName(call.model), extraMembers(call.model))
  const conversation = new Conversation(call, meter)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRounds ?? MAX_TOOL_ROUNDS
  let said = ''
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const { content, usage } = await link.guarded(async () => model.doGenerate(options), call)
    conversation.count(usage)
    const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    said += text
    const calls = content.filter((part) => part.type === 'tool-call')
    if (calls.length === 0) return said
    await conversation.runTools(text, calls, signal)
  }
  throw new EndlessTools()
}

async function* stream(link: ProviderLink, call: ModelCall, meter: Meter): AsyncGenerator<readonly string[], void> {
  const model = link.model(upstreamName(call.model), extraMembers(call.model))
  const conversation = new Conversation(call, meter)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRoundsStreaming ?? MAX_TOOL_ROUNDS
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const parts = await link.guarded(() => beginStream(async () => (await model.doStream(options)).stream), call)
    const { text, calls } = yield* relay(parts, conversation)
    if (calls.length === 0) return
    await conversation.runTools(text, calls, signal)
  }
  throw new EndlessTools()
}

class EndlessTools extends Error {
  override name = 'EndlessTools'
}
