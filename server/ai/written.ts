import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type { ModelCall } from '../../routers/ports/ai/models.ts'
import type { HttpClient } from '../net/http-client.ts'
import { adapterDrivers } from './adapters.ts'
import { type Connection, upstreamName } from './chat-model.ts'
import { Conversation } from './conversation.ts'
import { extraMembers } from './parameters.ts'

interface Written {
  url: string
  headers: Record<string, string>
  body: string
}

/** The request for an answer as the AI SDK writes it, which is not sent. */
export async function writtenFor(call: ModelCall, connection: Connection): Promise<Written> {
  let written: Written | undefined
  const keep: HttpClient['read'] = async (url, { headers, body }) => {
    written = { url, headers, body: String(body) }
    throw new Error('it is not sent')
  }
  const { model: known, signal } = call
  const of = { ...connection, read: keep, extraMembers: extraMembers(known) }
  const model = adapterDrivers[known.adapter as Adapter].model(upstreamName(known), of)
  try {
    await model.doGenerate(new Conversation(call).options(signal, false))
  } catch (error) {
    if (!written) throw error
  }
  if (!written) throw new Error('nothing was written')
  return written
}
