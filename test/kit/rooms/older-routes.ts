import { startApp, type TestApp } from '../app.ts'
import { signIn, type TestBrowser } from '../browser.ts'

/** Encodes a text in the format of older front ends. */
export const encodeText = (plaintext: string) => ({
  ciphertext: Buffer.from(plaintext).toString('base64'),
  iv: 'aXY=',
  tag: 'dGFn',
})

/** Sends a form with a file as a browser does. */
export async function sendFile({ url }: Pick<TestApp, 'url'>, { cookies }: TestBrowser, path: string, form: FormData) {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const answer = await fetch(url + path, {
    method: 'POST',
    headers: { cookie, 'sec-fetch-site': 'same-origin' },
    body: form,
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

/** Uploads a file by a route of older front ends; returns its uuid. */
export async function uploadFile(
  svc: Pick<TestApp, 'url'>,
  by: TestBrowser,
  path: string,
  plaintext = 'Hello',
): Promise<string> {
  const form = new FormData()
  form.append('file', new Blob([plaintext], { type: 'text/plain' }), 'notes.txt')
  const { status, body } = await sendFile(svc, by, path, form)
  if (status !== 200) throw new Error(JSON.stringify(body))
  return String(body['uuid'])
}

export const sealText = (plaintext: string) => `aXY=|dGFn|${encodeText(plaintext).ciphertext}`
export const KEY = 'd3JhcHBlZCBrZXk='

/** Sends a request that must succeed; returns its body. */
export async function sendSuccessfully(by: TestBrowser, method: string, path: string, body?: unknown) {
  const answer = await by.send(method, path, { body })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
  return answer.body
}

export const readError = async (by: TestBrowser, method: string, path: string, body?: unknown) => {
  const { status, body: answer } = await by.send(method, path, { body })
  const [error] = answer['errors'] as { code: string; source?: { pointer: string } }[]
  return [status, error?.source?.pointer ?? error?.code]
}

export const buildInvitation = (username: string, role: string, more: object = {}) => ({
  username,
  role,
  iv: '0',
  tag: '0',
  encryptedRoomKey: KEY,
  ...more,
})

/** Three people in browsers, and the older routes of rooms, by Ada unless told otherwise. */
export async function startOlderRooms() {
  const svc = await startApp({ PEOPLE_SEARCHES_PER_MINUTE: '1000' })
  const [ada, bob, cyd] = [await signIn(svc, 'ada'), await signIn(svc, 'bob'), await signIn(svc, 'cyd')]
  const by = { ada: ada.browser, bob: bob.browser, cyd: cyd.browser }

  async function invite(slug: string, ...invitations: object[]) {
    await sendSuccessfully(by.ada, 'POST', `/req/inv/store-invitations/${slug}`, { invitations })
  }

  return {
    svc,
    ...by,
    invite,

    async makeRoom(maker = by.ada): Promise<string> {
      const { roomData } = await sendSuccessfully(maker, 'POST', '/req/room/createRoom', { room_name: 'Chess & Go' })
      return (roomData as { slug: string }).slug
    },

    async join(slug: string, invitee: TestBrowser, username: string, role: string) {
      await invite(slug, buildInvitation(username, role))
      const { invitation_id } = await sendSuccessfully(invitee, 'GET', `/req/inv/requestInvitation/${slug}`)
      return sendSuccessfully(invitee, 'POST', '/req/inv/roomInvitationAccept', { invitation_id })
    },

    async say(slug: string, plaintext: string, more: object = {}, author = by.ada) {
      const message = { content: { text: encodeText(plaintext) }, threadId: 0, ...more }
      const { messageData } = await sendSuccessfully(author, 'POST', `/req/room/sendMessage/${slug}`, message)
      return messageData as { message_id: string; member_id: number; read_status: boolean }
    },

    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}

/** Builds a message of an earlier front end. */
export const buildMessage = (plaintext: string, more: object = {}) => ({
  isAi: false,
  threadId: 0,
  content: { text: encodeText(plaintext) },
  completion: true,
  ...more,
})

interface ConversationMessage {
  message_id: string
  message_role: string
  content: { text: { ciphertext: string }; attachments: { fileData: { uuid: string; url: string } }[] }
}
interface OpenedConversation {
  data: {
    id: number
    name: string
    slug: string
    system_prompt: string | null
    messages: ConversationMessage[]
    next: string | null
  }
}

export const messageNumbers = ({ data }: OpenedConversation) => data.messages.map(({ message_id }) => message_id)

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
    svc,
    ada,
    bob,
    adaId,

    async begin(by = ada, settings: object = {}): Promise<string> {
      const { status, text, body } = await by.send('POST', '/req/conv/createChat', { body: settings })
      if (status !== 201) throw new Error(text)
      return (body['conv'] as { slug: string }).slug
    },

    async say(slug: string, message: object, by = ada): Promise<ConversationMessage> {
      const { status, text, body } = await by.send('POST', `/req/conv/sendMessage/${slug}`, { body: message })
      if (status !== 200) throw new Error(text)
      return body['messageData'] as ConversationMessage
    },

    async open(slug: string, query = '', by: TestBrowser = ada) {
      const { status, body } = await by.send('GET', `/req/conv/${slug}${query}`)
      return { status, ...(body as unknown as OpenedConversation) }
    },

    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}
