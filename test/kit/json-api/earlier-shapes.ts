import { z } from 'zod'

const text = z.string()
const whole = z.int()
const flag = z.boolean()
const words = z.array(text)
const free = z.record(text, z.unknown())
const time = z.iso.datetime()
const made = { created_at: time, updated_at: time }
const label = text.regex(/^[a-zA-Z.]+$/).nullable()
const status = z.enum(['online', 'offline', 'unknown'])

const cost = z.number().nullable()
const range = z.looseObject({
  currency: text,
  input_cost_per_token: cost,
  input_cost_per_cached_token: cost,
  output_cost_per_token: cost,
  output_cost_per_reasoning_token: cost,
  range: z.tuple([whole, whole.nullable()]),
})
const pricing = z.union([
  z.strictObject({ free: z.literal(true) }),
  z.looseObject({ ranges: z.array(range).nullable(), priority_ranges: z.array(range).nullable() }),
])

/** The attributes that earlier front ends read of each type; they ignore others. */
export const shapes: Record<string, z.ZodRawShape> = {
  'ai-model-descriptions': { ai_model_id: whole, locale: text, description: text },
  'ai-model-flags': { title_label: label, description_label: label, color_code: text },
  'ai-models': {
    active: flag,
    model_id: text,
    model_type: text.nullable(),
    label: text,
    input: words,
    output: words,
    parameters: free.nullable(),
    status,
    native_capabilities: words.nullable(),
    settings: free.nullable(),
    limits: z.looseObject({ max_input_tokens: whole.nullable(), max_output_tokens: whole.nullable() }).nullable(),
    pricing: pricing.nullable(),
    flags: words.nullable(),
    tool_ids: z.array(whole),
    ...made,
  },
  'ai-providers': {
    provider_id: text,
    name: text,
    active: flag,
    api_key: text.nullable(),
    api_url: text.nullable(),
    ...made,
  },
  'ai-tool-capabilities': {
    title_label: label,
    description_label: label,
    icon_path: text.startsWith('data:').nullable(),
  },
  'ai-tools': {
    active: flag,
    type: z.enum(['function', 'mcp']),
    name: text,
    description: text,
    server_capability_key: text.nullable(),
    mapped_capability_key: text.nullable(),
    capability_key: text.nullable(),
    status,
    ...made,
  },
  attachments: {
    uuid: z.uuid(),
    name: text,
    category: z.enum(['group', 'private']),
    type: z.enum(['image', 'document', 'audio', 'video', 'other']),
    mime: text,
    identifier: text.regex(/^group-[0-9a-f-]{36}\.\w+$/),
  },
  configs: { list: z.record(text, z.record(text, free)) },
  connections: { type: text, version: text, locale: text, userinfo: free },
  'mcp-servers': {
    type: z.enum(['sse', 'stdio', 'http']),
    url: text,
    server_label: text,
    description: text.nullable(),
    require_approval: text,
    timeouts: free.nullable(),
    api_key: text.nullable(),
    ...made,
  },
  migrations: { data: free.nullable() },
  'room-members': { user_id: whole, room_id: whole, role: z.enum(['admin', 'editor', 'viewer', 'assistant']), ...made },
  'room-messages': {
    room_id: whole,
    member_id: whole,
    has_thread: flag,
    thread_id: whole.nullable(),
    read_by: z.array(whole),
    content: text,
    ...made,
  },
  rooms: {
    name: text,
    avatar: text.nullable(),
    slug: text,
    system_prompt: text.nullable(),
    room_description: text.nullable(),
    ...made,
  },
  'system-models': { model_type: text, usage_type: text, model_id: text },
  'system-prompts': { prompt_type: text, usage_type: text, locale: text, prompt: text },
  'translation-labels': { locale: text, labels: free },
  'user-keychain-values': { user_id: whole, key: text, value: text, type: text },
  users: {
    display_name: text,
    username: text,
    email: z.email(),
    bio: text.nullable(),
    avatar: text.nullable(),
    ...made,
  },
}
