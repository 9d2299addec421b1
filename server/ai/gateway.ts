import { isDeepStrictEqual } from 'node:util'
import type { CallableModel, ModelCall, ModelGateway, OnUsage } from '../../routers/ports/models.ts'
import { API_KEY, type Vault } from '../../routers/ports/vault.ts'
import { Conversation } from './conversation.ts'
import { isListed } from './model-listing.ts'
import { extraMembers } from './parameters.ts'
import { createProviderClient, type ProviderClient } from './provider-link.ts'
import { beginStream, forwardText } from './provider-stream.ts'

/** How often a model may call tools before it must answer, where its settings say nothing else. */
const MAX_TOOL_ROUNDS = 5

/** Providers through the AI SDK. One link per provider is kept until what it was made from changes. */
export function createGateway(vault: Vault): ModelGateway & { close(): Promise<void> } {
  const links = new Map<string, { of: LinkSource; link: ProviderClient }>()

  function linkTo(model: CallableModel): ProviderClient {
    const of = sourceOf(model)
    const known = links.get(model.providerId)
    if (known && isSame(known.of, of)) return known.link
    const link = createProviderClient(model, model.apiKey ? vault.open(model.apiKey, API_KEY) : undefined)
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

async function generate(link: ProviderClient, call: ModelCall, meter: OnUsage): Promise<string> {
  const model = link.model(upstreamName(call.model), extraMembers(call.model))
  const conversation = new Conversation(call, meter)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRounds ?? MAX_TOOL_ROUNDS
  let said = ''
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const { content, usage } = await link.withRetryAndCircuit(async () => model.doGenerate(options), call)
    conversation.count(usage)
    const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('')
    said += text
    const calls = content.filter((part) => part.type === 'tool-call')
    if (calls.length === 0) return said
    await conversation.runTools(text, calls, signal)
  }
  throw new EndlessTools()
}

async function* stream(link: ProviderClient, call: ModelCall, meter: OnUsage): AsyncGenerator<readonly string[], void> {
  const model = link.model(upstreamName(call.model), extraMembers(call.model))
  const conversation = new Conversation(call, meter)
  const { signal } = call
  const lastRound = call.model.settings?.maxToolCallingRoundsStreaming ?? MAX_TOOL_ROUNDS
  for (let round = 0; round <= lastRound; round++) {
    const options = conversation.options(signal, round === lastRound)
    const parts = await link.withRetryAndCircuit(
      () => beginStream(async () => (await model.doStream(options)).stream),
      call,
    )
    const { text, calls } = yield* forwardText(parts, conversation)
    if (calls.length === 0) return
    await conversation.runTools(text, calls, signal)
  }
  throw new EndlessTools()
}

class EndlessTools extends Error {
  override name = 'EndlessTools'
}
