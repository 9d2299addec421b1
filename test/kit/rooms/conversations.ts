import { startApp } from '../app.ts'
import { signIn, type TestBrowser } from '../browser.ts'
import { text } from './older.ts'

/** A message as front ends of earlier versions send it. */
export const saying = (said: string, more: object = {}) => ({
  isAi: false,
  threadId: 0,
  content: { text: text(said) },
  completion: true,
  ...more,
})

interface Message {
  message_id: string
  message_role: string
  content: { text: { ciphertext: string }; attachments: { fileData: { uuid: string; url: string } }[] }
}
interface Opened {
  data: {
    id: number
    name: string
    slug: string
    system_prompt: string | null
    messages: Message[]
    next: string | null
  }
}

export const numbers = ({ data }: Opened) => data.messages.map(({ message_id }) => message_id)

/** A service with narrow limits and two people in browsers, and the older routes of conversations, by Ada unless told otherwise. */
export async function startConversations() {
  const svc = await startApp({
    CONVERSATIONS_PER_PERSON: '40',
    CONVERSATION_MAX_MESSAGES: '30',
    CONVERSATION_QUOTA: '500000',
  })
  const { browser: ada, id: adaId } = await signIn(svc, 'ada')
  const { browser: bob } = await signIn(svc, 'bob')
  return {
    ...{ svc, ada, bob, adaId },

    async begin(by = ada, settings: object = {}): Promise<string> {
      const { status, text, body } = await by.send('POST', '/req/conv/createChat', { body: settings })
      if (status !== 201) throw new Error(text)
      return (body['conv'] as { slug: string }).slug
    },

    async say(slug: string, message: object, by = ada): Promise<Message> {
      const { status, text, body } = await by.send('POST', `/req/conv/sendMessage/${slug}`, { body: message })
      if (status !== 200) throw new Error(text)
      return body['messageData'] as Message
    },

    async open(slug: string, query = '', by: TestBrowser = ada) {
      const { status, body } = await by.send('GET', `/req/conv/${slug}${query}`)
      return { status, ...(body as unknown as Opened) }
    },

    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}

export type Conversations = Awaited<ReturnType<typeof startConversations>>
