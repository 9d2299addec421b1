import type { Readable } from 'node:stream'
import type { HttpClient, OutboundRequest } from '../net/http-client.ts'
import { readBeginning } from '../net/response-body.ts'
import type { EndDetector, ResponseHead } from '../net/response-handler.ts'
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
  throw toStatusError(response, await readRefusal(response.body))
}

const isSuccess = ({ statusCode }: ResponseHead) => statusCode >= 200 && statusCode < 300
const toStatusError = ({ statusCode, headers }: ResponseHead, body: string) =>
  new ProviderStatusError(statusCode, headers, body)

/** Reads the beginning of an error response as text. */
async function readRefusal(body: Readable): Promise<string> {
  const chunks: Uint8Array[] = []
  try {
    for await (const chunk of readBeginning(body)) chunks.push(chunk)
  } catch {
    // Use the part that was received.
  }
  return Buffer.concat(chunks).toString()
}
