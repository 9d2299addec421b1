/** One server-sent event, its data read as JSON. */
export interface StreamEvent {
  event: string
  data: Record<string, unknown>
}

/** All events of an answer that is complete. */
export const parseEvents = (text: string): StreamEvent[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [, event = '', data = ''] = /^event: ([^\n]+)\ndata: ([^\n]+)$/.exec(block) ?? []
      return { event, data: JSON.parse(data) }
    })

/** The text that a stream delivered. */
export const joinDeltas = (events: readonly StreamEvent[]) =>
  events
    .filter(({ event }) => event === 'delta')
    .map(({ data }) => data['text'])
    .join('')
