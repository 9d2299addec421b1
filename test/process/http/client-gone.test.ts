import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { base, startJsonApi } from '../../kit/json-api/client.ts'
import { shareResource } from '../../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

/** Starts a request and disconnects in the middle of its body. */
async function leave(path: string, type: string, begun: string): Promise<void> {
  const { port, hostname } = new URL(svc.url)
  const socket = connect(Number(port), hostname)
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    `Authorization: Bearer ${svc.people.ada.token}`,
    `Content-Type: ${type}`,
    'Content-Length: 10000',
  ]
  await once(socket, 'connect')
  socket.write(`${head.join('\r\n')}\r\n\r\n${begun}`)
  // Once another request is answered, the headers and the partial body have been read.
  await svc.send('GET', '/health/live')
  socket.destroy()
}

const form =
  '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nText'

test.for([
  ['a document', `${base}/rooms`, 'application/vnd.api+json', '{"data":'],
  ['an upload', `${base}/attachments/actions/upload`, 'multipart/form-data; boundary=b', form],
  ['a procedure', '/trpc/ai.ask', 'application/json', '{'],
  ['a question', '/v1/chat/completions', 'application/json', '{"model":'],
  ['an older question', '/api/ai-req', 'application/json', '{"model":'],
  ['a form', '/req/login', 'application/json', '{"account":'],
])('a client that goes away in %s is noted at info, without a stack', async ([, path = '', type = '', begun = '']) => {
  const before = svc.log.length

  await leave(path, type, begun)

  const lines = () => svc.log.slice(before).map((line) => JSON.parse(line))
  const gone = { level: 30, method: 'POST', msg: 'client_gone' }
  await expect.poll(lines).toContainEqual(expect.objectContaining(gone))
  // Any further log line would appear before the end of the next request.
  await svc.send('GET', '/health/live')
  expect(lines().filter(({ level, error, frames }) => level > 30 || error || frames)).toEqual([])
})
