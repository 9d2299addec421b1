export interface ServerSentEvent {
  event: string
  data: string
  id: string | undefined
}

const MAX_EVENT = 1024 * 1024

/** Reads the events of an answer as they come. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent, void> {
  let rest = ''
  for await (const text of textsOf(body)) {
    const blocks = (rest + text).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    if (rest.length > MAX_EVENT) throw new Error('An event is too large.')
    for (const block of blocks) if (block.trim()) yield eventIn(block.trim())
  }
}

/** Not every browser can iterate over a body. */
async function* textsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield decoder.decode(value, { stream: true })
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function eventIn(block: string): ServerSentEvent {
  const found: ServerSentEvent = { event: 'message', data: '', id: undefined }
  for (const line of block.split(/\r?\n/)) {
    const [, name, value = ''] = /^(\w*):? ?(.*)$/.exec(line) ?? []
    if (name === 'event' || name === 'id') found[name] = value
    if (name === 'data') found.data += found.data ? `\n${value}` : value
  }
  return found
}
