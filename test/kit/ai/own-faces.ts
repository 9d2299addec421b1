import { createClient } from '../../../facades/client/index.ts'
import { ended, KEY, opened, roomWithAi, said } from '../rooms/ai.ts'
import type { Face, Heard } from './obeyed/face.ts'

type Procedures = ReturnType<typeof createClient>['ai']
type Answer = Awaited<ReturnType<Procedures['complete']['mutate']>>
type Parts = Awaited<ReturnType<Procedures['completeStream']['mutate']>>

const heardIn = ({ content, finish, usage }: Pick<Answer, 'content' | 'finish' | 'usage'>): Heard => ({
  text: content.map((part) => (part.type === 'text' ? part.text : '')).join(''),
  calls: content.flatMap((part) =>
    part.type === 'tool-call' ? { name: part.name, input: JSON.parse(part.input) } : [],
  ),
  end: finish,
  tokens: { input: usage.inputTokens, output: usage.outputTokens },
})

async function heardOf(parts: Parts): Promise<Heard> {
  const content: Answer['content'] = []
  let finish: Answer['finish'] = 'stop'
  for await (const part of parts) {
    if (part.type === 'delta') content.push({ type: 'text', text: part.text })
    if (part.type === 'tool-call') content.push(part)
    if (part.type === 'finish') finish = part.reason
    if (part.type === 'usage') return heardIn({ content, finish, usage: part })
  }
  throw new Error('the stream ended without its usage')
}

/** The procedures of the service, by its own client. */
export const procedures: Face = {
  name: 'tRPC',
  words: { tools: 'tools' },
  ends: { stop: 'stop', length: 'length', calls: 'tool-calls' },
  async ask({ svc, token }, { model, text, wish, stream }) {
    const { ai } = createClient({ url: svc.url, token })
    const tools = wish.tools?.map(({ name, schema }) => ({ name, inputSchema: schema }))
    const messages = [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }]
    const question = { model, messages, ...(tools && { tools }) }
    return stream ? heardOf(await ai.completeStream.mutate(question)) : heardIn(await ai.complete.mutate(question))
  },
}

/** A room of its own for each question, the answer of which is read from its messages. */
export const rooms: Face = {
  name: 'room',
  words: {},
  async ask({ svc }, { model, text }) {
    const { id, admin } = await roomWithAi({ svc })
    await admin.post(`/rooms/${id}/actions/ask`, { model, messages: [said(text)], key: KEY })
    const { answer } = await ended(admin, id)
    const { attributes } = (await admin.get(`/room-messages/${answer}`)).one
    return { text: (await opened(attributes['content'])).text, calls: [] }
  },
}
