import OpenAI from 'openai'
import { type Asker, type Face, type Heard, set, type Wish } from './face.ts'

const clientOf = ({ svc, token }: Asker) => new OpenAI({ apiKey: token, baseURL: `${svc.url}/v1`, maxRetries: 0 })

const words = { tools: 'tools', choice: 'tool_choice', parallelTools: 'parallel_tool_calls' }
const called = (name: string, input: string) => ({ name, input: JSON.parse(input) })

export const chat: Face = {
  name: 'chat completion',
  words: {
    ...{ ...words, json: 'response_format', schema: 'response_format' },
    ...{ stop: 'stop', maxTokens: 'max_tokens', seed: 'seed' },
  },
  ends: { stop: 'stop', length: 'length', calls: 'tool_calls' },
  async ask(asker, { model, text, stream, wish }) {
    const { completions } = clientOf(asker).chat
    const body = { ...completionParameters(wish), model, messages: [{ role: 'user' as const, content: text }] }
    const more = { stream: true as const, stream_options: { include_usage: true } }
    return heardIn(
      stream ? await completions.stream({ ...body, ...more }).finalChatCompletion() : await completions.create(body),
    )
  },
}

const completionParameters = ({ tools, choice, json, schema, maxTokens, parallelTools, stop, seed }: Wish) =>
  set({
    ...{ stop, seed, max_completion_tokens: maxTokens, parallel_tool_calls: parallelTools },
    tools: tools?.map(({ name, schema }) => ({ type: 'function', function: { name, parameters: schema } })),
    tool_choice: typeof choice === 'object' ? { type: 'function', function: choice } : choice,
    response_format: json
      ? { type: 'json_object' }
      : schema && { type: 'json_schema', json_schema: { name: 'answer', schema } },
  })

function heardIn({ choices, usage }: OpenAI.ChatCompletion): Heard {
  const [{ message, finish_reason } = {}] = choices
  const calls = (message?.tool_calls ?? []).flatMap((call) => (call.type === 'function' ? call.function : []))
  return {
    ...{ text: message?.content ?? '', end: finish_reason },
    calls: calls.map((call) => called(call.name, call.arguments)),
    tokens: { input: usage?.prompt_tokens ?? 0, output: usage?.completion_tokens ?? 0 },
  }
}

export const response: Face = {
  name: 'response',
  words: { ...words, json: 'text.format', schema: 'text.format', maxTokens: 'max_output_tokens' },
  ends: { stop: 'completed', length: 'max_output_tokens', calls: 'completed' },
  async ask(asker, { model, text: input, stream, wish }) {
    const { responses } = clientOf(asker)
    const body = { ...responseParameters(wish), model, input }
    const answer = await (stream ? responses.stream(body).finalResponse() : responses.create(body))
    const { output, usage, incomplete_details: cut, status } = answer as OpenAI.Responses.Response
    const spoken = output.flatMap((item) => (item.type === 'message' ? item.content : []))
    return {
      text: spoken.map((part) => (part.type === 'output_text' ? part.text : '')).join(''),
      calls: output.flatMap((item) => (item.type === 'function_call' ? called(item.name, item.arguments) : [])),
      end: cut?.reason ?? status,
      tokens: { input: usage?.input_tokens ?? 0, output: usage?.output_tokens ?? 0 },
    }
  },
}

function responseParameters({ tools, choice, json, schema, maxTokens, parallelTools }: Wish) {
  const format = json ? { type: 'json_object' } : schema && { type: 'json_schema', name: 'answer', schema }
  return set({
    ...{ max_output_tokens: maxTokens, parallel_tool_calls: parallelTools },
    tools: tools?.map(({ name, schema }) => ({ type: 'function', name, parameters: schema })),
    tool_choice: typeof choice === 'object' ? { type: 'function', ...choice } : choice,
    text: format && { format },
  })
}
