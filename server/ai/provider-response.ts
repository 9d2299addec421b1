import type { Readable } from 'node:stream'
import type { HttpClient, OutboundRequest } from '../net/http-client.ts'
import type { ResponseHead } from '../net/response-handler.ts'
import { type EndDetector, MAX_REFUSAL_BYTES } from '../net/response-handler.ts'
import { ProviderStatusError, toUnparsableError } from './provider-errors.ts'

/** All of an answer. Throws a refusal, and an answer that breaks off, with as much of it as came. */
export async function readResponse(
  { read }: Pick<HttpClient, 'read'>,
  url: string,
  request: OutboundRequest,
  watch?: EndDetector,
) {
  const { text, error, ...head } = await read(url, request, watch)
  if (!isSuccess(head)) throw toStatusError(head, text)
  if (error) throw toUnparsableError(error, text)
  return { ...head, body: text }
}

/** An answer that is read as it comes. Throws a refusal. */
export async function openResponse({ send }: Pick<HttpClient, 'send'>, url: string, request: OutboundRequest) {
  const response = await send(url, request)
  if (isSuccess(response)) return response
  throw toStatusError(response, await readBeginning(response.body))
}

const isSuccess = ({ statusCode }: ResponseHead) => statusCode >= 200 && statusCode < 300
const toStatusError = ({ statusCode, headers }: ResponseHead, body: string) =>
  new ProviderStatusError(statusCode, headers['retry-after'], body)

/** The beginning of what a provider says in a refusal. A longer one is not worth its connection. */
async function readBeginning(body: Readable): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_REFUSAL_BYTES) break
    }
  } catch {
    // What has come must do.
  }
  return Buffer.concat(chunks).toString()
}
