import { request } from 'node:http'
import { base } from './client.ts'

export interface RawRequest {
  method: string
  /** Below the base path, sent as it is. */
  path: string
  headers?: Record<string, string>
  body?: string
}

export interface RawAnswer {
  status: number
  headers: Record<string, unknown>
  text: string
}

/** Sends requests that `fetch` would correct; times out after half a minute. */
export function sendRaw(url: string, { method, path, headers = {}, body }: RawRequest): Promise<RawAnswer> {
  return new Promise((done, failed) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const signal = AbortSignal.timeout(60_000)
    const options = { method, headers: { ...length, ...headers }, path: base + path, signal }
    const clientRequest = request(url, options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => done({ status: response.statusCode ?? 0, headers: response.headers, text }))
      response.on('error', failed)
    })
    clientRequest.on('error', failed)
    clientRequest.end(body)
  })
}

export const bearerHeader = (token: string) => ({ authorization: `Bearer ${token}` })
