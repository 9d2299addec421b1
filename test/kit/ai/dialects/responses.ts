import {
  type Call,
  type Dialect,
  type DialectAnswer,
  formatEvent,
  type Schema,
  selectTools,
  splitTokens,
  type TokenCounts,
} from './dialect.ts'

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

export const buildResponse = (tokens: TokenCounts, more: object) => ({
  ...heading,
  output: [],
  ...more,
  usage: {
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    input_tokens_details: { cached_tokens: tokens.cached, cache_write_tokens: tokens.cacheWrite },
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
  },
})

const message = { type: 'message', id: 'msg', role: 'assistant', status: 'completed' }
const buildMessageItem = (text: string) => ({ ...message, content: [{ type: 'output_text', text, annotations: [] }] })
const buildCallItem = ({ id, name, input }: Call) => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name,
  arguments: JSON.stringify(input),
  status: 'completed',
})

const incomplete = { length: 'max_output_tokens', refusal: 'content_filter' }
const toStatus = ({ end }: Pick<DialectAnswer, 'end'>) =>
  end === 'length' || end === 'refusal'
    ? { status: 'incomplete', incomplete_details: { reason: incomplete[end] } }
    : { status: 'completed' }

export const startResponse = () =>
  formatEvent('response.created', { response: heading }) +
  formatEvent('response.output_item.added', { output_index: 0, item: message })
export const buildResponseWord = (delta: string) =>
  formatEvent('response.output_text.delta', { item_id: message.id, output_index: 0, delta })
export function endResponse({ tokens, ...answer }: Pick<DialectAnswer, 'end' | 'tokens'>): string {
  const end = toStatus(answer)
  return (
    formatEvent('response.output_item.done', { output_index: 0, item: message }) +
    formatEvent(`response.${end.status}`, { response: buildResponse(tokens, end) })
  )
}

function buildCallEvents(call: Call, at: number): string {
  const [item, place] = [buildCallItem(call), { output_index: at + 1 }]
  return (
    formatEvent('response.output_item.added', { ...place, item: { ...item, arguments: '', status: 'in_progress' } }) +
    formatEvent('response.function_call_arguments.delta', { ...place, item_id: item.id, delta: item.arguments }) +
    formatEvent('response.function_call_arguments.done', { ...place, item_id: item.id, arguments: item.arguments }) +
    formatEvent('response.output_item.done', { ...place, item })
  )
}

/** OpenAI's newer API, which has no stop sequences and no seed. */
export const responses: Dialect = {
  read(body) {
    const {
      input = [],
      instructions,
      tools = [],
      tool_choice: choice = 'auto',
      text,
      ...request
    } = body as ResponseRequest
    const allTools = tools.map(({ name, parameters = {} }) => ({ name, schema: parameters }))
    return {
      messages: input,
      around: { instructions, tools, text },
      ...selectTools(allTools, choice === 'required' ? 'any' : choice),
      isOneByOne: request.parallel_tool_calls === false,
      json: text?.format?.schema ?? text?.format?.type === 'json_object',
      stop: [],
      maxTokens: request.max_output_tokens ?? Infinity,
      seed: undefined,
    }
  },
  whole: ({ text, calls, tokens, ...answer }) =>
    buildResponse(tokens, {
      ...toStatus(answer),
      output: [...(text ? [buildMessageItem(text)] : []), ...calls.map(buildCallItem)],
    }),
  events: (answer) => [
    startResponse() +
      splitTokens(answer.text).map(buildResponseWord).join('') +
      answer.calls.map(buildCallEvents).join(''),
    endResponse(answer),
  ],
}
