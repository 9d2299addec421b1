import { startApp } from '../app.ts'
import { signIn, type TestBrowser } from '../browser.ts'
import { text } from './older.ts'

export const sealed = (said: string) => `aXY=|dGFn|${text(said).ciphertext}`
export const KEY = 'd3JhcHBlZCBrZXk='

/** Sends a request that must succeed; returns its body. */
export async function done(by: TestBrowser, method: string, path: string, body?: unknown) {
  const answer = await by.send(method, path, { body })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
  return answer.body
}

export const errorOf = async (by: TestBrowser, method: string, path: string, body?: unknown) => {
  const { status, body: answer } = await by.send(method, path, { body })
  const [error] = answer['errors'] as { code: string; source?: { pointer: string } }[]
  return [status, error?.source?.pointer ?? error?.code]
}

export const invitationOf = (username: string, role: string, more: object = {}) => ({
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
    await done(by.ada, 'POST', `/req/inv/store-invitations/${slug}`, { invitations })
  }

  return {
    ...{ svc, ...by, invite },

    async makeRoom(maker = by.ada): Promise<string> {
      const { roomData } = await done(maker, 'POST', '/req/room/createRoom', { room_name: 'Chess & Go' })
      return (roomData as { slug: string }).slug
    },

    async join(slug: string, joining: TestBrowser, username: string, role: string) {
      await invite(slug, invitationOf(username, role))
      const { invitation_id } = await done(joining, 'GET', `/req/inv/requestInvitation/${slug}`)
      return done(joining, 'POST', '/req/inv/roomInvitationAccept', { invitation_id })
    },

    async say(slug: string, said: string, more: object = {}, author = by.ada) {
      const message = { content: { text: text(said) }, threadId: 0, ...more }
      const { messageData } = await done(author, 'POST', `/req/room/sendMessage/${slug}`, message)
      return messageData as { message_id: string; member_id: number; read_status: boolean }
    },

    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}

export type OlderRooms = Awaited<ReturnType<typeof startOlderRooms>>
