import Anthropic from '@anthropic-ai/sdk'
import { eventsIn, textOf } from '../event-stream.ts'
import { type Face, type Question, set, type Wish } from './face.ts'
import { chat, response } from './openai-faces.ts'

const message: Face = {
  name: 'message',
  words: {
    ...{ tools: 'tools', choice: 'tool_choice', parallelTools: 'tool_choice.disable_parallel_tool_use' },
    ...{ schema: 'output_config.format', stop: 'stop_sequences', maxTokens: 'max_tokens' },
  },
  ends: { stop: 'end_turn', length: 'max_tokens', calls: 'tool_use' },
  async ask({ svc, token }, { model, text, stream, wish }) {
    const { messages } = new Anthropic({ apiKey: token, baseURL: svc.url, maxRetries: 0 })
    const question = { model, messages: [{ role: 'user' as const, content: text }], max_tokens: wish.maxTokens ?? 1000 }
    const body = { ...messageParameters(wish), ...question }
    const answer = stream ? await messages.stream(body).finalMessage() : await messages.create(body)
    const { content, usage, stop_reason: end } = answer
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: content.flatMap((block) => (block.type === 'tool_use' ? { name: block.name, input: block.input } : [])),
      ...{ end, tokens: { input: usage.input_tokens, output: usage.output_tokens } },
    }
  },
}

function messageParameters({ tools, choice, schema, stop, parallelTools }: Wish) {
  const type = typeof choice === 'object' ? 'tool' : choice === 'required' ? 'any' : choice
  const oneByOne = parallelTools === false && { disable_parallel_tool_use: true }
  return set({
    tools: tools?.map(({ name, schema }) => ({ name, input_schema: schema })),
    tool_choice: choice && { type, ...(typeof choice === 'object' && choice), ...oneByOne },
    output_config: schema && { format: { type: 'json_schema', schema } },
    stop_sequences: stop,
  })
}

const older = ({ model, text }: Question) => ({ model, messages: [{ role: 'user', content: { text } }] })

const aiReq: Face = {
  name: 'ai-req',
  words: {},
  async ask({ svc, token }, question) {
    const headers = { accept: question.stream ? 'text/event-stream' : 'application/json' }
    const answer = await svc.send('POST', '/api/ai-req', { token, headers, body: { payload: older(question) } })
    if (!question.stream) return { calls: [], ...((await answer.json()) as { content: { text: string } }).content }
    const events = eventsIn(await answer.text())
    const { inputTokens: input, outputTokens: output } = events.find(({ event }) => event === 'usage')?.data ?? {}
    return { text: textOf(events), calls: [], tokens: { input: Number(input), output: Number(output) } }
  },
}

const lines: Face = {
  name: 'lines',
  words: { maxTokens: 'max_tokens' },
  async ask({ browser }, question) {
    const { stream, wish } = question
    const payload = { ...older(question), stream, params: set({ max_tokens: wish.maxTokens }) }
    const { text, body } = await browser.send('POST', '/req/streamAI', { body: { payload, broadcast: false } })
    if (!stream) return { calls: [], ...JSON.parse(String(body['content'])) }
    const said = text.split('\n').flatMap((line) => (line ? JSON.parse(line) : []))
    return { text: said.map(({ type, content }) => (type === 'message' ? content : '')).join(''), calls: [] }
  },
}

export const faces = [chat, response, message, aiReq, lines]
