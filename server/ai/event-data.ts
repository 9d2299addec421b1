import { createParser } from 'eventsource-parser'

/** The data of each server-sent event in a stream of bytes. */
export async function* eventData(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let events: string[] = []
  const parser = createParser({ onEvent: ({ data }) => void events.push(data) })
  for await (const chunk of bytes) {
    parser.feed(decoder.decode(chunk, { stream: true }))
    yield* events
    events = []
  }
}
