import { z } from 'zod'
import { thinkingSteps } from '../../../entities/catalogue/ai-model.ts'
import { systemModelTypes } from '../../../entities/catalogue/system-model.ts'
import type { UsageType } from '../../../entities/sql/columns.ts'
import { day } from '../days.ts'
import { timeLimit } from '../duration.ts'
import { adapters, defaultAddresses, selfHostedAdapters } from './adapters.ts'
import { allowedGroups } from './allowed-groups.ts'
import { mcpServer, refuseDuplicateServers } from './mcp-server-config.ts'
import { price } from './price-list.ts'

export const modalities = ['text', 'image', 'audio', 'video'] as const

const identifier = z.string().trim().min(1).max(200)
const providerId = identifier.max(120)
const tokens = z.number().int().positive()

const rounds = z.number().int().min(0).max(100)

/** Members of a request that the service writes itself, with their names here if they can be set. */
const reservedNames: Record<string, string | undefined> = {
  top_p: 'topP',
  max_tokens: 'maxTokens',
  max_completion_tokens: 'maxTokens',
  max_output_tokens: 'maxTokens',
  model: undefined,
  messages: undefined,
  input: undefined,
  contents: undefined,
  prompt: undefined,
  system: undefined,
  instructions: undefined,
  systemInstruction: undefined,
  n: undefined,
  stream: undefined,
  stream_options: undefined,
  tools: undefined,
  tool_choice: undefined,
  toolConfig: undefined,
  background: undefined,
  conversation: undefined,
  previous_response_id: undefined,
}

/** Parameters of a model; unknown members are sent to the provider unchanged, in its own spelling. */
export const modelParameters = z
  .object({
    temperature: z.number().min(0).max(2).optional(),
    topP: z.number().min(0).max(1).optional(),
    maxTokens: tokens.optional(),
    maxThinkingTokens: tokens.optional(),
  })
  .catchall(z.json())
  .superRefine((parameters, ctx) => {
    for (const name of Object.keys(parameters).filter((name) => Object.hasOwn(reservedNames, name))) {
      const ours = reservedNames[name]
      const message = ours ? `is called ${ours} here` : 'is written by the service itself'
      ctx.addIssue({ code: 'custom', path: [name], message })
    }
  })

/**
 * Settings of a model. Front ends read `fileUpload`, `nativeCapabilities` and `thinking`; without `toolCalling` they
 * offer no tools.
 */
export const modelSettings = z.strictObject({
  toolCalling: z.boolean().optional(),
  fileUpload: z.boolean().optional(),
  nativeCapabilities: z.boolean().optional(),
  maxToolCallingRounds: rounds.optional(),
  maxToolCallingRoundsStreaming: rounds.optional(),
  thinkTags: z.boolean().optional(),
  thinking: z.array(z.enum(thinkingSteps)).max(thinkingSteps.length).optional(),
})

/** The position of a model in lists. */
export const modelPosition = z.int().min(0).max(10_000)

const model = z.strictObject({
  id: identifier,
  upstreamId: identifier.optional(),
  label: z.string().max(200).optional(),
  active: z.boolean().default(true),
  modelType: z.enum(['chat', 'embedding', 'image_generation', 'video_generation']).default('chat'),
  input: z.array(z.enum(modalities)).default(['text']),
  output: z.array(z.enum([...modalities, 'thought'])).default(['text']),
  external: z.boolean().default(false),
  /** The groups that may use it; everybody if empty. */
  groups: allowedGroups,
  limits: z.strictObject({ maxInputTokens: tokens.optional(), maxOutputTokens: tokens.optional() }).optional(),
  pricing: price.optional(),
  parameters: modelParameters.optional(),
  settings: modelSettings.optional(),
  nativeCapabilities: z.array(z.string().toLowerCase()).default([]),
  flags: z.array(z.string().toLowerCase()).default([]),
  tools: z.array(identifier).default([]),
  /** Fallback models if the provider fails before the answer begins. */
  fallback: z.array(identifier).max(5).default([]),
  documentationUrl: z.url().optional(),
  /** The day in UTC on which the provider shuts it down. */
  deprecationDate: day.transform((text) => new Date(text)).optional(),
  /** The model that follows it then, and whether that one answers in its place. */
  successor: identifier.optional(),
  redirect: z.boolean().default(false),
  /** The position among the models: the smallest comes first, models without one come last. */
  position: modelPosition.optional(),
  descriptions: z.record(z.string().regex(/^[a-z]{2}_[A-Z]{2}$/), z.string()).default({}),
})

/** Further servers per provider. */
export const MAX_SERVERS = 20

const apiUrl = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  // Addresses are often copied with the path of a call.
  .transform((url) => url.replace(/\/+$/, '').replace(/(\/chat)?\/completions$/, ''))

/** Older configurations call the OpenAI-compatible adapter `openai_like`. */
const adapter = z.preprocess((name) => (name === 'openai_like' ? 'openai-compatible' : name), z.enum(adapters))

const provider = z
  .strictObject({
    id: providerId,
    adapter,
    name: z.string().max(120).optional(),
    active: z.boolean().default(true),
    groups: allowedGroups,
    apiUrl: apiUrl.optional(),
    apiKey: z.string().min(1).optional(),
    /** Address of the model list for status checks, if it is not at the API. */
    modelStatusUrl: z.url({ protocol: /^https?$/ }).optional(),
    /** Further addresses or keys of the same models; the provider's address is the default. */
    servers: z
      .array(z.strictObject({ apiUrl: apiUrl.optional(), apiKey: z.string().min(1).optional() }))
      .max(MAX_SERVERS)
      .default([]),
    timeouts: z
      .strictObject({ connect: timeLimit.optional(), firstByte: timeLimit.optional(), total: timeLimit.optional() })
      .default({}),
    circuit: z
      .strictObject({ failures: z.number().int().positive().optional(), openFor: timeLimit.optional() })
      .optional(),
    continuousUsage: z.boolean().optional(),
    parameters: modelParameters.optional(),
    models: z.array(model).default([]),
  })
  .refine(({ adapter, apiUrl }) => !selfHostedAdapters.has(adapter) || apiUrl, {
    path: ['apiUrl'],
    message: 'a provider of this kind needs its address',
  })
  .refine(
    ({ adapter, apiUrl, servers }) => apiUrl ?? defaultAddresses[adapter] ?? servers.every(({ apiUrl }) => apiUrl),
    {
      path: ['servers'],
      message: 'each server needs its address where the provider has none',
    },
  )

const unique = (what: string, idsOf: (config: { providers: z.output<typeof provider>[] }) => string[]) =>
  z.superRefine<{ providers: z.output<typeof provider>[] }>((config, ctx) => {
    const ids = idsOf(config)
    const duplicate = ids.find((id, index) => ids.indexOf(id) !== index)
    if (duplicate)
      ctx.addIssue({ code: 'custom', path: ['providers'], message: `there are two ${what} with the id ${duplicate}` })
  })

/** Finds fallbacks and successors that are no other model of the file. */
function findNameIssues(
  { id, fallback, successor, redirect }: z.output<typeof model>,
  known: ReadonlySet<string>,
): { member: string; message: string }[] {
  const named = [
    ...fallback.map((name) => ({ member: 'fallback', name })),
    ...(successor === undefined ? [] : [{ member: 'successor', name: successor }]),
  ]
  const unknown = named
    .filter(({ name }) => name === id || !known.has(name))
    .map(({ member, name }) => ({ member, message: `there is no other model with the id ${name}` }))
  return redirect && successor === undefined
    ? [...unknown, { member: 'redirect', message: 'must be false without a successor' }]
    : unknown
}

const assignments = z.partialRecord(z.enum(systemModelTypes), identifier).default({})

/** Schema of the file that AI_CONFIG names. */
export const modelConfig = z
  .strictObject({
    providers: z.array(provider),
    mcpServers: z.array(mcpServer).max(100).default([]),
    /** Models by task; the external ones override them for programs. */
    systemModels: assignments,
    systemModelsExternal: assignments,
  })
  .check(
    unique('providers', ({ providers }) => providers.map(({ id }) => id)),
    unique('models', ({ providers }) => providers.flatMap(({ models }) => models.map(({ id }) => id))),
    refuseDuplicateServers,
    z.superRefine(({ providers }, ctx) => {
      const known = new Set(providers.flatMap(({ models }) => models.map(({ id }) => id)))
      for (const [at, { models }] of providers.entries())
        for (const [index, entry] of models.entries())
          for (const { member, message } of findNameIssues(entry, known))
            ctx.addIssue({ code: 'custom', path: ['providers', at, 'models', index, member], message })
    }),
    z.superRefine((config, ctx) => {
      const known = new Set(config.providers.flatMap(({ models }) => models.map(({ id }) => id)))
      for (const family of ['systemModels', 'systemModelsExternal'] as const) {
        for (const [type, id] of Object.entries(config[family])) {
          if (known.has(id)) continue
          ctx.addIssue({ code: 'custom', path: [family, type], message: `there is no model with the id ${id}` })
        }
      }
    }),
  )

export type ModelConfig = z.output<typeof modelConfig>
export type ProviderConfig = ModelConfig['providers'][number]
export type ModelEntry = ProviderConfig['models'][number]

/** Lines of an entry and its members in the file. */
export interface Origin {
  /** The entry's id in the file. */
  id: string
  line: number
  members: { name: string; line: number }[]
}

/** Lines of the entries in the file that AI_CONFIG names. */
export interface ModelOrigins {
  file: string
  providers: Origin[]
  models: Origin[]
  tasks: Record<UsageType, Origin[]>
}
