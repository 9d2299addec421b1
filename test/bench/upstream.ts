import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { servePart } from './serve.ts'

const pieces =
  'An answer comes in some twenty pieces, as a model makes them, and costs nobody any time to think of it.'.split(
    /(?<= )/,
  )
const common = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'mock-1', system_fingerprint: 'fp_1' }
const usage = { prompt_tokens: 24, completion_tokens: pieces.length, total_tokens: 24 + pieces.length }

const whole = JSON.stringify({
  ...common,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: pieces.join('') }, finish_reason: 'stop' }],
  usage,
})

const event = (choices: object[], more: object = {}) =>
  `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices, ...more })}\n\n`
const delta = (content: object, reason: string | null = null) =>
  event([{ index: 0, delta: content, finish_reason: reason }])

const events = [
  delta({ role: 'assistant', content: '' }),
  ...pieces.map((content) => delta({ content })),
  delta({}, 'stop'),
  event([], { usage }),
  'data: [DONE]\n\n',
].map((text) => Buffer.from(text))

function answer(response: ServerResponse, streaming: boolean): void {
  if (!streaming) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length })
    response.end(whole)
    return
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const piece of events) response.write(piece)
  response.end()
}

/** An AI provider that speaks the OpenAI protocol and needs no time to think. */
servePart(async () => {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk) => (body += chunk))
    request.on('end', () => answer(response, body.includes('"stream":true')))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    ready: { url: `http://127.0.0.1:${port}/v1` },
    async stop() {
      server.closeAllConnections()
      server.close()
    },
  }
})
