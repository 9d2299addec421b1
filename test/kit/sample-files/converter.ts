import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

interface ConverterOptions {
  /** The response to a file. */
  answer: Buffer | string
  status?: number
  /** The response to a request for its formats. */
  formats?: unknown
  /** A promise that delays the response. */
  until?: Promise<unknown>
}

interface ReceivedFile {
  path: string | undefined
  authorization: string | undefined
  /** The fields of the form by their names. */
  form: FormData
}

/** Starts a service that converts files to text by the three protocols. */
export async function startConverter({ answer, status = 200, formats, until }: ConverterOptions) {
  const received: ReceivedFile[] = []
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return response.end(JSON.stringify(formats))
    received.push({ path: request.url, authorization: request.headers.authorization, form: await readForm(request) })
    await until
    response.statusCode = status
    return response.end(answer)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

const readForm = async (request: IncomingMessage) =>
  new Response(new Uint8Array(await buffer(request)), {
    headers: { 'content-type': request.headers['content-type'] ?? '' },
  }).formData()
