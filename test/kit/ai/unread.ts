import { once } from 'node:events'
import { connect } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { TestApp } from '../app.ts'
import { type Behaviour, beginStream, buildChunk } from './provider.ts'

/** Sends more than all buffers on the way hold. */
export const flood: Behaviour = async (_, response) => {
  const piece = buildChunk({ delta: { content: 'x'.repeat(65_536) } })
  beginStream(response)
  const pieces = function* () {
    for (;;) yield piece
  }
  await pipeline(pieces, response).catch(() => undefined)
}

/** Posts over a socket from which nothing is read. */
export async function postUnread({ url }: TestApp, path: string, token: string, accept: string, body: object) {
  const { port, host } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1').pause()
  socket.on('error', () => {})
  await once(socket, 'connect')
  const json = JSON.stringify(body)
  const head = [
    `POST ${path} HTTP/1.1`,
    `host: ${host}`,
    `authorization: Bearer ${token}`,
    `content-type: application/json`,
    `content-length: ${Buffer.byteLength(json)}`,
    // An answer that fits in the buffers on the way is complete for the service.
    'connection: close',
    accept,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${json}`)
  return socket
}
