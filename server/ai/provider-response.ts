import type { Readable } from 'node:stream'
import type { HttpClient, OutboundRequest } from '../net/http-client.ts'
import type { ResponseHead } from '../net/response-handler.ts'
import { type EndDetector, MAX_REFUSAL_BYTES } from '../net/response-handler.ts'
import { Refusal, toUnparsable } from './provider-errors.ts'

/** All of an answer. Throws a refusal, and an answer that breaks off, with as much of it as came. */
export async function readAnswer(
  { read }: Pick<HttpClient, 'read'>,
  url: string,
  request: OutboundRequest,
  watch?: EndDetector,
) {
  const { text, error, ...head } = await read(url, request, watch)
  if (!isAnswer(head)) throw toRefusal(head, text)
  if (error) throw toUnparsable(error, text)
  return { ...head, body: text }
}

/** An answer that is read as it comes. Throws a refusal. */
export async function openAnswer({ send }: Pick<HttpClient, 'send'>, url: string, request: OutboundRequest) {
  const answer = await send(url, request)
  if (isAnswer(answer)) return answer
  throw toRefusal(answer, await readBeginning(answer.body))
}

const isAnswer = ({ statusCode }: ResponseHead) => statusCode >= 200 && statusCode < 300
const toRefusal = ({ statusCode, headers }: ResponseHead, body: string) =>
  new Refusal(statusCode, headers['retry-after'], body)

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
