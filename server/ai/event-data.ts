import { createParser } from 'eventsource-parser'

/** The data of the server-sent events in a stream of bytes; events that came together stay together. */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[], void> {
  const decoder = new TextDecoder()
  let events: string[] = []
  const parser = createParser({ onEvent: ({ data }) => void events.push(data) })
  for await (const chunk of bytes) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    if (events.length > 0) yield events
    events = []
  }
}
