import { expect } from 'vitest'

/** The expected outcome of a request of `test/ai/cases/requests`. */
export interface RequestCase {
  /** A part of the request that the provider gets. */
  sent?: object
  /** A part of the sentence by which the request is refused. */
  refused?: string
  /** The members that the response names as ignored. */
  ignored?: string
  /** The model's tool call and the item of the response that it becomes. */
  answered?: { tool?: string; input?: string; item?: object }
}

const hi = { role: 'user', content: 'hi' }
/** The last message of the longer requests. */
const last = { role: 'user', content: '@@plain' }
const buildCall = (id: string, q: string) => ({ id, function: { name: 'find', arguments: JSON.stringify({ q }) } })

/** Requests after bug reports of clients of other services, by the names of their files. */
export const requestCases: Record<string, RequestCase> = {
  asst_empty_str: { sent: { messages: [{ role: 'user', content: 'hi\n\nagain' }] } },
  asst_last: { sent: { messages: [hi, { role: 'assistant', content: 'prefill' }] } },
  asst_null_tools: {
    sent: { messages: [hi, { tool_calls: [{ function: { name: 'now' } }] }, { role: 'tool', content: '12:00' }] },
  },
  chattmpl: { sent: { messages: [hi], chat_template_kwargs: { enable_thinking: false } } },
  'claude-code': {
    sent: { max_tokens: 32_000, reasoning_effort: 'high', tools: [{ function: { name: 'Bash' } }] },
    ignored: 'metadata, cache_control',
  },
  'codex-custom': {
    sent: { tools: [{ function: { name: 'apply_patch', parameters: { required: ['input'] } } }] },
    answered: {
      tool: 'apply_patch',
      input: '{"input":"*** Begin"}',
      item: { type: 'custom_tool_call', call_id: 'call-1', name: 'apply_patch', input: '*** Begin' },
    },
  },
  'codex-websearch': {
    sent: { messages: [hi], tools: [{ function: { name: 'shell' } }] },
    ignored: 'tools.web_search',
  },
  gpt5: { sent: { model: 'gpt-5-mini', max_completion_tokens: 50 } },
  img_jpgmime: {
    sent: { messages: [{ content: [{ image_url: { url: expect.stringMatching(/^data:image\/png;base64,/) } }] }] },
  },
  tool_sameids: {
    sent: {
      messages: [
        hi,
        { tool_calls: [buildCall('c1', 'a'), buildCall('c1-2', 'b')] },
        { role: 'tool', tool_call_id: 'c1', content: 'ra' },
        { role: 'tool', tool_call_id: 'c1-2', content: 'rb' },
      ],
    },
  },
  user_name: { sent: { messages: [hi] }, ignored: 'messages.name' },
  'chat-choice-no-tools': { sent: { messages: [last] } },
  'chat-choice-null': { sent: { messages: [last] } },
  'chat-echo': { sent: { messages: [hi, { content: 'hello', reasoning_content: 'hm' }, last] } },
  'chat-empty-assistant': { sent: { messages: [{ content: expect.stringContaining(last.content) }] } },
  'chat-empty-toolcalls': { sent: { messages: [hi, { content: 'hello' }, last] } },
  'chat-ha-schema': { sent: { tools: [{ function: { parameters: { anyOf: [{ required: ['hours'] }, {}] } } }] } },
  'chat-legacy-functions': { refused: "'functions' is the older word for tools" },
  'chat-reasoning-back': { sent: { messages: [{}, { reasoning_content: 'I should look.' }, {}, last] } },
  'chat-repeated-ids': {
    sent: { messages: [{}, {}, { tool_call_id: 'find:0' }, {}, { tool_call_id: 'find:0-2' }, last] },
  },
  'chat-signature-back': {
    sent: { messages: [{}, { tool_calls: [{ extra_content: { google: { thought_signature: 'SIG==' } } }] }, {}, last] },
  },
  'chat-system-mid': {
    sent: { messages: [{ role: 'system', content: expect.stringMatching(/terse.+German/s) }, hi, {}, last] },
  },
  'chat-tool-shapes': { sent: { tools: ['a', 'b', 'c', 'd'].map((name) => ({ function: { name } })) } },
  'claude-advisor': {
    sent: { messages: [{}, { content: 'I will.' }, last] },
    ignored: 'messages.content.server_tool_use, messages.content.advisor_tool_result',
  },
  'claude-fallbacks': { sent: { messages: [last] }, ignored: 'diagnostics, fallbacks' },
  'claude-image-result': {
    sent: { messages: [{}, {}, { role: 'tool' }, { content: [{}, { type: 'image_url' }, { text: last.content }] }] },
  },
  'claude-new-members': {
    sent: { messages: [last], reasoning_effort: 'high' },
    ignored: 'metadata, speed, context_management, cache_control',
  },
  'claude-per-turn-effort': { sent: { messages: [hi, {}, last] }, ignored: 'messages.output_config' },
  'claude-repeated-ids': {
    sent: { messages: [{}, {}, { tool_call_id: 'find_0' }, {}, { tool_call_id: 'find_0-2' }, last] },
  },
  'claude-server-tools': {
    sent: { messages: [{}, { content: 'It is new.' }, last] },
    ignored: 'messages.content.server_tool_use, messages.content.web_search_tool_result',
  },
  'claude-system-mid': {
    sent: { messages: [{ role: 'system', content: expect.stringMatching(/an agent.+agent types/s) }, hi, {}, last] },
    ignored: 'cache_control',
  },
  'claude-thinking-back': { sent: { messages: [{}, { reasoning_content: 'I should look.' }, {}, last] } },
  'claude-tool-reference': {
    sent: { messages: [{}, {}, { role: 'tool', content: 'TaskStop' }, last] },
    ignored: 'tools.defer_loading',
  },
  'codex-additional-tools': {
    sent: { tools: [{ function: { name: 'shell' } }, { function: { name: 'functions__exec' } }] },
    ignored: 'prompt_cache_key',
    answered: {
      tool: 'functions__exec',
      input: '{"input":"ls"}',
      item: { type: 'custom_tool_call', name: 'exec', namespace: 'functions', input: 'ls' },
    },
  },
  'codex-agent-message': {
    sent: {
      messages: [
        {},
        {
          content: [
            { text: expect.stringMatching(/from \/root\/reader/) },
            { text: expect.stringMatching(/^The file has 3 lines/) },
          ],
        },
      ],
    },
  },
  'codex-compaction-trigger': {
    sent: { messages: [{}, {}, {}, { content: expect.stringMatching(/Write a summary/) }], tool_choice: 'none' },
    ignored: 'prompt_cache_key',
    answered: { item: { type: 'compaction', encrypted_content: expect.any(String) } },
  },
  'codex-developer-mid': {
    sent: { messages: [{ role: 'system', content: expect.stringMatching(/From now on/) }, hi, {}, last] },
    ignored: 'prompt_cache_key',
  },
  'codex-history-items': {
    sent: { messages: [{}, {}, {}, { content: 'No tools were found.' }, {}, { content: 'ok' }, {}, {}, last] },
    ignored: 'input.web_search_call, prompt_cache_key',
  },
  'codex-local-shell-history': {
    sent: { messages: [{}, {}, { tool_calls: [{ function: { name: 'local_shell' } }] }, { content: 'a b' }, last] },
    ignored: 'prompt_cache_key',
  },
  'codex-repeated-ids': {
    sent: { messages: [{}, {}, {}, { content: 'one' }, {}, { content: 'two' }, last] },
    ignored: 'prompt_cache_key',
  },
  'codex-status': { sent: { messages: [hi, {}, { content: 'one' }, { content: 'one' }, last] } },
  'codex-tool-kinds': {
    sent: { tools: [{ function: { name: 'shell' } }, { function: { name: 'mcp__docs__search_docs' } }] },
    ignored: 'tools.tool_search, tools.image_generation, prompt_cache_key, tools.web_search',
  },
  'embed-base64': { sent: { model: 'embedding' } },
  'embed-tokens': { sent: { model: 'embedding' } },
}

interface ClientRequest {
  path?: string
  body?: object
  model?: string
}

const paths: Record<string, string> = {
  claude: '/v1/messages',
  codex: '/v1/responses',
  embed: '/v1/embeddings',
}

/** The beginning of a file's name, or the file itself, says its path. The model `q` is the one of the tests. */
export function readClientRequest(name: string, file: ClientRequest): { path: string; body: object } {
  const { path = paths[name.split('-')[0] ?? ''] ?? '/v1/chat/completions', body = file } = file
  return { path, body: 'model' in body && body.model === 'q' ? { ...body, model: 'mock-1' } : body }
}
