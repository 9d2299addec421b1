import type { Api } from '../../routers/index.ts'
import type { Frames } from '../http/event-stream.ts'
import { failureOf } from '../http/failure.ts'

type StreamPart = Awaited<ReturnType<Api['ai']['stream']>> extends AsyncGenerator<infer Part> ? Part : never

/** Events by name: `delta`, `usage`, then `done` or `error`. */
export const namedEvents = (requestId: string): Frames<StreamPart> => ({
  part: ({ type, ...data }) => eventOf(type, data),
  done: () => eventOf('done', {}),
  failed(thrown) {
    const { code, message } = failureOf(thrown)
    return eventOf('error', { code, message, requestId })
  },
})

const eventOf = (type: string, data: object) => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`
