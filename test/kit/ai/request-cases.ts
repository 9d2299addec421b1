import { expect } from 'vitest'

/** The expected outcome of a request of `test/ai/cases/requests`. */
export interface RequestCase {
  /** A part of the request that the provider gets. */
  sent: object
  /** The members that the response names as ignored. */
  ignored?: string
  /** The model's tool call and the item of the response that it becomes. */
  answered?: { tool?: string; input?: string; item?: object }
}

const hi = { role: 'user', content: 'hi' }
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
  user_name: { sent: { messages: [hi] } },
}

interface ClientRequest {
  path?: string
  body?: object
  model?: string
}

/** Most files are bodies of chat completions; others name their path. The model `q` is the one of the tests. */
export function readClientRequest(file: ClientRequest): { path: string; body: object } {
  const { path = '/v1/chat/completions', body = file } = file
  return { path, body: 'model' in body && body.model === 'q' ? { ...body, model: 'mock-1' } : body }
}
