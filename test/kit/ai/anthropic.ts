import { type Behaviour, beginStream, type ProviderRequest, sendJson } from './provider.ts'

/** A block of what Anthropic says. */
export type Block = { type: string } & Record<string, unknown>

interface Ending {
  stop_reason: string
  stop_sequence?: string | null
  usage: Record<string, unknown>
}

export const message = { type: 'message', id: 'msg', role: 'assistant', model: 'up', stop_sequence: null }

/** Builds the answer in one piece and as events. */
export const buildMessage = (content: readonly Block[], ending: Ending) => ({
  whole: { ...message, content, ...ending },
  events: buildStartEvents(content, ending.usage) + buildEndEvents(ending),
})

/** Builds the first events: each block starts empty and is then streamed. */
export function buildStartEvents(content: readonly Block[], usage: Ending['usage'], piecesOf = keepWhole): string {
  const startMessage = { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 0 } }
  return (
    formatEvent({ type: 'message_start', message: startMessage }) +
    content.map((block, index) => buildBlockEvents(block, index, piecesOf)).join('')
  )
}

export const buildEndEvents = ({ stop_reason, stop_sequence = null, usage }: Ending) =>
  formatEvent({ type: 'message_delta', delta: { stop_reason, stop_sequence }, usage }) +
  formatEvent({ type: 'message_stop' })

const keepWhole = (text: string) => [text]

function buildBlockEvents(block: Block, index: number, piecesOf: (text: string) => string[]): string {
  const { text, citations, thinking, signature, input } = block
  const deltas: Block[] = [
    ...(text ? piecesOf(`${text}`) : []).map((text) => ({ type: 'text_delta', text })),
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
    formatEvent({ type: 'content_block_start', index, content_block: empty }),
    ...deltas.map((delta) => formatEvent({ type: 'content_block_delta', index, delta })),
    formatEvent({ type: 'content_block_stop', index }),
  ].join('')
}

const formatEvent = (event: Block) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`

/** Builds the result of a fetched page: a text, or base64 of another type. */
export function buildFetchedPage(tool_use_id: string, url: string, data: string, media_type = 'text/plain'): Block {
  const source = { type: media_type === 'text/plain' ? 'text' : 'base64', media_type, data }
  const content = { type: 'document', title: 'Chess', source }
  return {
    type: 'web_fetch_tool_result',
    tool_use_id,
    content: { type: 'web_fetch_result', url, retrieved_at: null, content },
  }
}

/** Answers as Anthropic does, in one piece or as a stream. */
export const answersWithBlocks =
  (content: readonly Block[], ending: Ending): Behaviour =>
  ({ body }: ProviderRequest, response) => {
    const { whole, events } = buildMessage(content, ending)
    if (!body.stream) return sendJson(response, whole)
    beginStream(response)
    response.end(events)
  }

/** Streams these blocks, and then stalls. */
export const stallsAfterBlocks =
  (content: readonly Block[], usage: Ending['usage']): Behaviour =>
  (_, response) => {
    beginStream(response)
    response.write(buildStartEvents(content, usage))
  }
