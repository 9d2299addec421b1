import type { Readable } from 'node:stream'
import type { HttpClient, OutboundRequest } from '../net/http-client.ts'
import type { ResponseHead } from '../net/response-handler.ts'
import { type EndDetector, MAX_REFUSAL_BYTES } from '../net/response-handler.ts'
import { ProviderStatusError, toUnparsableError } from './provider-errors.ts'

/**
 * Reads a complete response. Throws for an error status, and for a truncated response with the part that was received.
 */
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

/** Opens a streamed response. Throws for an error status. */
export async function openResponse({ send }: Pick<HttpClient, 'send'>, url: string, request: OutboundRequest) {
  const response = await send(url, request)
  if (isSuccess(response)) return response
  throw toStatusError(response, await readBeginning(response.body))
}

const isSuccess = ({ statusCode }: ResponseHead) => statusCode >= 200 && statusCode < 300
const toStatusError = ({ statusCode, headers }: ResponseHead, body: string) =>
  new ProviderStatusError(statusCode, headers['retry-after'], body)

/** Reads the beginning of an error response. A longer one is not worth keeping the connection. */
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
    // Use the part that was received.
  }
  return Buffer.concat(chunks).toString()
}
