import { type Call, type Counted, chosen, type Dialect, named, type Said, type Schema, tokensOf } from './dialect.ts'

interface ResponseRequest {
  input?: unknown[]
  instructions?: string
  tools?: { name: string; parameters?: Schema }[]
  tool_choice?: 'auto' | 'none' | 'required' | { name: string }
  parallel_tool_calls?: boolean
  text?: { format?: { type: string; schema?: Schema } }
  max_output_tokens?: number
}

const heading = { id: 'resp', object: 'response', created_at: 1, model: 'up-1' }

export const responseOf = (counted: Counted, more: object) => ({
  ...{ ...heading, output: [], ...more },
  usage: {
    input_tokens: counted.input,
    output_tokens: counted.output,
    input_tokens_details: { cached_tokens: counted.cached, cache_write_tokens: counted.cacheWrite },
    output_tokens_details: { reasoning_tokens: counted.reasoning },
  },
})

const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' }
const spoken = (text: string) => ({ ...message, content: [{ type: 'output_text', text, annotations: [] }] })
const called = ({ id, name, input }: Call) => ({
  ...{
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name,
    arguments: JSON.stringify(input),
    status: 'completed',
  },
})

const incomplete = { length: 'max_output_tokens', refusal: 'content_filter' }
const endOf = ({ end }: Pick<Said, 'end'>) =>
  end === 'length' || end === 'refusal'
    ? { status: 'incomplete', incomplete_details: { reason: incomplete[end] } }
    : { status: 'completed' }

export const begunResponse = () =>
  named('response.created', { response: heading }) +
  named('response.output_item.added', { output_index: 0, item: message })
export const responseWord = (delta: string) =>
  named('response.output_text.delta', { item_id: message.id, output_index: 0, delta })
export function endedResponse({ counted, ...said }: Pick<Said, 'end' | 'counted'>): string {
  const end = endOf(said)
  return (
    named('response.output_item.done', { output_index: 0, item: message }) +
    named(`response.${end.status}`, { response: responseOf(counted, end) })
  )
}

function callEvents(call: Call, at: number): string {
  const [item, place] = [called(call), { output_index: at + 1 }]
  return (
    named('response.output_item.added', { ...place, item: { ...item, arguments: '', status: 'in_progress' } }) +
    named('response.function_call_arguments.delta', { ...place, item_id: item.id, delta: item.arguments }) +
    named('response.function_call_arguments.done', { ...place, item_id: item.id, arguments: item.arguments }) +
    named('response.output_item.done', { ...place, item })
  )
}

/** OpenAI's newer API, which has no word for where to stop, nor for a seed. */
export const responses: Dialect = {
  read(body) {
    const {
      input = [],
      instructions,
      tools = [],
      tool_choice: choice = 'auto',
      text,
      ...asked
    } = body as ResponseRequest
    const known = tools.map(({ name, parameters = {} }) => ({ name, schema: parameters }))
    return {
      ...{ messages: input, around: { instructions, tools, text } },
      ...chosen(known, choice === 'required' ? 'any' : choice),
      isOneByOne: asked.parallel_tool_calls === false,
      json: text?.format?.schema ?? text?.format?.type === 'json_object',
      ...{ stop: [], maxTokens: asked.max_output_tokens ?? Infinity, seed: undefined },
    }
  },
  whole: ({ text, calls, counted, ...said }) =>
    responseOf(counted, { ...endOf(said), output: [...(text ? [spoken(text)] : []), ...calls.map(called)] }),
  events: (said) => [
    begunResponse() + tokensOf(said.text).map(responseWord).join('') + said.calls.map(callEvents).join(''),
    endedResponse(said),
  ],
}
