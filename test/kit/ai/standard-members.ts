/** An API of the service, with an example value for each of its members. */
export interface StandardApi {
  path: string
  /** The types of its SDK: a module and an interface in it. */
  types: [module: string, name: string][]
  /** The members of every request. */
  body: Record<string, unknown>
  examples: Record<string, unknown>
}

/** Must not reach a provider. */
const canary = 'CANARY'
const messages = [{ role: 'user', content: 'Hi' }]
const schema = { type: 'object', properties: {} }

const sharedByOpenAi = {
  user: canary,
  safety_identifier: canary,
  metadata: { label: canary },
  prompt_cache_key: canary,
  prompt_cache_options: { mode: canary },
  prompt_cache_retention: canary,
  service_tier: canary,
  client_metadata: { label: canary },
  moderation: { model: canary },
  store: true,
  model: 'mock-1',
  stream: true,
  temperature: 0.5,
  top_p: 0.5,
  top_logprobs: 3,
  parallel_tool_calls: true,
  tool_choice: 'auto',
}

export const standardApis: StandardApi[] = [
  {
    path: '/v1/chat/completions',
    types: [['openai/resources/chat/completions/completions', 'ChatCompletionCreateParamsBase']],
    body: { model: 'mock-1', messages },
    examples: {
      ...sharedByOpenAi,
      messages,
      stream_options: { include_usage: true },
      max_tokens: 50,
      max_completion_tokens: 50,
      seed: 7,
      stop: ['END'],
      presence_penalty: 0.5,
      frequency_penalty: 0.5,
      verbosity: 'low',
      reasoning_effort: 'low',
      tools: [
        { type: 'function', function: { name: 'a', parameters: schema } },
        { type: 'custom', custom: { name: 'b' } },
      ],
      response_format: { type: 'json_object' },
      web_search_options: { search_context_size: canary },
      n: 2,
      logit_bias: { 50256: -100 },
      audio: { voice: 'alloy', format: 'wav' },
      modalities: ['text'],
      functions: [{ name: 'a' }],
      function_call: { name: 'a' },
      logprobs: true,
      prediction: { type: 'content', content: canary },
      chat_template_kwargs: { enable_thinking: false },
    },
  },
  {
    path: '/v1/responses',
    types: [['openai/resources/responses/responses', 'ResponseCreateParamsBase']],
    body: { model: 'mock-1', input: 'Hi' },
    examples: {
      ...sharedByOpenAi,
      input: [{ role: 'user', content: 'Hi' }],
      instructions: 'Be kind.',
      stream_options: { include_obfuscation: false },
      max_output_tokens: 50,
      reasoning: { effort: 'low', summary: 'auto', context: canary },
      text: { format: { type: 'json_object' }, verbosity: 'low' },
      tools: [
        { type: 'function', name: 'a', parameters: schema, strict: false },
        { type: 'custom', name: 'b' },
        { type: 'web_search', search_context_size: canary },
        {
          type: 'namespace',
          name: 'c',
          description: 'd',
          tools: [{ type: 'function', name: 'e', parameters: schema }],
        },
      ],
      include: ['web_search_call.action.sources'],
      truncation: 'auto',
      max_tool_calls: 5,
      context_management: [{ type: canary }],
      access_programs: { kind: canary },
      background: true,
      previous_response_id: 'resp_1',
      conversation: 'conv_1',
      prompt: { id: 'pmpt_1' },
      image: { size: canary },
    },
  },
  {
    path: '/v1/messages',
    types: [
      ['@anthropic-ai/sdk/resources/messages/messages', 'MessageCreateParamsBase'],
      ['@anthropic-ai/sdk/resources/beta/messages/messages', 'MessageCreateParamsBase'],
    ],
    body: { model: 'mock-1', messages, max_tokens: 50 },
    examples: {
      model: 'mock-1',
      messages: [...messages, { role: 'system', content: 'Be kind.' }, ...messages],
      system: [{ type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral', ttl: canary } }],
      tools: [
        { name: 'a', input_schema: schema, defer_loading: true, input_examples: [{ a: canary }] },
        { type: 'web_search_20260318', name: 'web_search', max_uses: 3 },
      ],
      tool_choice: { type: 'auto' },
      thinking: { type: 'enabled', budget_tokens: 2000 },
      output_config: { effort: 'low' },
      output_format: { type: 'json_schema', schema },
      max_tokens: 60,
      stream: true,
      temperature: 0.5,
      top_p: 0.5,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: canary },
      user_profile_id: canary,
      workspace_id: canary,
      service_tier: canary,
      billing_policy: { kind: canary },
      fallback_credit_token: canary,
      inference_geo: 'us',
      speed: canary,
      cache_control: { type: canary },
      diagnostics: { previous_message_id: canary },
      context_management: { edits: [{ type: canary }] },
      compaction: { kind: canary },
      betas: [canary],
      thread: { type: 'create' },
      fallbacks: [{ model: canary }],
      container: 'container_1',
      mcp_servers: [{ type: 'url', url: 'https://example.org', name: 'a' }],
    },
  },
]
