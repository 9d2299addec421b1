import { finished } from 'node:stream/promises'
import type { ModelCall } from '../../routers/ports/ai/models.ts'
import { Refusal } from './failures/refusal.ts'
import type { ProviderClient } from './provider-client.ts'
import { counters } from './usage/counters.ts'
import { writtenFor } from './written.ts'

const COUNT_TIMEOUT_MS = 10_000
/** Of an answer, which is one number. */
const MAX_BYTES = 64 * 1024

/**
 * How many tokens the provider counts as the input of a call; undefined where it counts none, or answers no calls now. Throws
 * where it does not say. A counter that fails opens no circuit: calls may be answered all the same.
 */
export async function countTokens(client: ProviderClient, call: ModelCall): Promise<number | undefined> {
  const { adapter } = client
  const counter = counters[adapter]
  const { connection } = client.findWell() ?? {}
  if (!counter || !connection) return undefined
  const written = await writtenFor(call, connection)
  const count = counter.request(written.url, JSON.parse(written.body))
  if (!count) return undefined
  const answer = await connection.send(count.url, {
    method: 'POST',
    headers: written.headers,
    body: JSON.stringify(count.body),
    signal: AbortSignal.any([call.signal, AbortSignal.timeout(COUNT_TIMEOUT_MS)]),
  })
  if (answer.statusCode === 200) return counter.answer.parse(JSON.parse(await textOf(answer.body)))
  // Read to its end, so that the connection can be used again.
  await finished(answer.body.resume()).catch(() => {})
  throw new Refusal(answer.statusCode, answer.headers['retry-after'])
}

async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error('the count of tokens is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
