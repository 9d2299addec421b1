import { type Asked, type Behaviour, beginStream, json } from './provider.ts'

/** A block of what Anthropic says. */
type Block = { type: string } & Record<string, unknown>

interface Ending {
  stop_reason: string
  usage: Record<string, unknown>
}

const message = { type: 'message', id: 'msg', role: 'assistant', model: 'up', stop_sequence: null }

/** What it says in one piece. */
const wholeOf = (content: readonly Block[], ending: Ending) => ({ ...message, content, ...ending })

/** The beginning of the same as events: each block begins empty, where it is said bit by bit. */
function begunEvents(content: readonly Block[], usage: Ending['usage']): string {
  const begun = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 0 } }
  return eventOf({ type: 'message_start', message: begun }) + content.map(blockEvents).join('')
}

const endEvents = ({ stop_reason, usage }: Ending) =>
  eventOf({ type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage }) +
  eventOf({ type: 'message_stop' })

function blockEvents(block: Block, index: number): string {
  const { text, citations, thinking, signature, input } = block
  const deltas: Block[] = [
    ...(text ? [{ type: 'text_delta', text }] : []),
    ...((citations as object[] | undefined) ?? []).map((citation) => ({ type: 'citations_delta', citation })),
    ...(thinking ? [{ type: 'thinking_delta', thinking }] : []),
    ...(signature ? [{ type: 'signature_delta', signature }] : []),
    ...(input ? [{ type: 'input_json_delta', partial_json: JSON.stringify(input) }] : []),
  ]
  const empty = {
    ...block,
    ...(text !== undefined && { text: '' }),
    ...(citations !== undefined && { citations: [] }),
    ...(thinking !== undefined && { thinking: '', signature: '' }),
    ...(input !== undefined && { input: {} }),
  }
  return [
    eventOf({ type: 'content_block_start', index, content_block: empty }),
    ...deltas.map((delta) => eventOf({ type: 'content_block_delta', index, delta })),
    eventOf({ type: 'content_block_stop', index }),
  ].join('')
}

const eventOf = (event: Block) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** What it says that it read on a page. */
export const pageOf = (tool_use_id: string, url: string, data: string): Block => ({
  ...{ type: 'web_fetch_tool_result', tool_use_id },
  content: {
    ...{ type: 'web_fetch_result', url, retrieved_at: null },
    content: { type: 'document', title: 'Chess', source: { type: 'text', media_type: 'text/plain', data } },
  },
})

/** Answers as Anthropic does, in one piece or as a stream. */
export const says =
  (content: readonly Block[], ending: Ending): Behaviour =>
  ({ body }: Asked, response) => {
    if (!body.stream) return json(response, wholeOf(content, ending))
    beginStream(response)
    response.end(begunEvents(content, ending.usage) + endEvents(ending))
  }

/** Streams these blocks, and then neither more nor an end. */
export const beginsToSay =
  (content: readonly Block[], usage: Ending['usage']): Behaviour =>
  (_, response) => {
    beginStream(response)
    response.write(begunEvents(content, usage))
  }
