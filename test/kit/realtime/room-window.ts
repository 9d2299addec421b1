import type * as live from '../../../facades/client/live/index.ts'
import type * as browser from '../../../facades/web/browser/crypto.ts'

type NewPusher = new (key: string, options: object) => live.PusherClient

/** The options of a window. */
export interface WindowOptions {
  url: string
  token: string
  passkey: string
  salts: browser.Salts
}

interface Stored {
  id: string
  attributes: Record<string, string>
}

interface Answer {
  data: Stored
  meta: { wrappedKey: string }
}

/**
 * A window in which somebody talks in an encrypted room: it makes their keys, and shows what it could open, by pusher-js and the
 * module that heals. Names nothing outside of itself: it is sent to Chromium as it is written.
 */
export async function openRoomWindow(
  web: typeof browser,
  { follow, overPusher, roomStream }: typeof live,
  Pusher: NewPusher,
  { url, token, passkey, salts }: WindowOptions,
) {
  const headers = { authorization: `Bearer ${token}` }
  const call = async <T = Answer>(method: string, path: string, body?: object): Promise<T> => {
    const type = { 'content-type': 'application/vnd.api+json' }
    const init = body && { body: JSON.stringify(body) }
    const response = await fetch(`${url}/api/svc/v1${path}`, { method, headers: { ...headers, ...type }, ...init })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status}`)
    return (await response.json()) as T
  }
  const to = (type: string, id: string) => ({ data: { type, id } })
  const create = async (type: string, attributes: object, relationships: object = {}) =>
    (await call('POST', `/${type}`, { data: { type, attributes, relationships } })).data
  const key = await web.passkeyKey(passkey, salts)
  const { publicKey, keychain } = await web.makeKeychain(key)
  await call('POST', '/user-keychain-values/actions/batch-update', { publicKey, set: keychain })
  const entry = keychain.find(({ keyType }) => keyType === 'private_key') as browser.KeychainEntry
  const privateKey = await web.importPrivateKey(await web.unsealEntry(key, entry))
  const shown = new Map<string, string>()
  let roomKey = ''
  let room = ''

  const show = async ({ id, attributes }: Stored) =>
    shown.set(id, await web.openMessage(roomKey, attributes['content'] ?? ''))

  return {
    publicKey: () => publicKey,
    async makeRoom(name: string) {
      roomKey = web.makeKey()
      const { id, attributes } = await create('rooms', { name })
      return { id, slug: attributes['slug'] ?? '' }
    },
    async invite(id: string, user: string, theirKey: string): Promise<string> {
      const wrappedKey = web.writeSealedRoomKey(await web.inviteByPublicKey(theirKey, roomKey))
      const relationships = { room: to('rooms', id), user: to('users', user) }
      return (await create('room-members', { role: 'editor', wrappedKey, keyEpoch: 0 }, relationships)).id
    },
    async accept(invitation: string) {
      const { meta } = await call('POST', `/room-members/${invitation}/actions/accept`, {})
      roomKey = await web.openByPrivateKey(privateKey, web.readSealedRoomKey(meta.wrappedKey))
    },
    enter(id: string, slug: string) {
      room = id
      const { hostname, port } = new URL(url)
      const channelAuthorization = { transport: 'ajax', endpoint: `${url}/api/broadcasting/auth`, headers }
      const address = { cluster: '', wsHost: hostname, wsPort: Number(port), wsPath: '/ws/transfer', forceTLS: false }
      const pusher = new Pusher('svc', { ...address, enabledTransports: ['ws'], channelAuthorization })
      follow({
        ...roomStream({ url, headers }, room),
        transport: overPusher(pusher, `private-Rooms.${slug}`),
        read: async () => {
          const { data } = await call<{ data: Stored[] }>('GET', `/rooms/${room}/messages?page[size]=200`)
          for (const message of data) await show(message)
        },
        apply: async ({ kind, subject }) => {
          if (kind.startsWith('room-messages.')) await show((await call('GET', `/room-messages/${subject}`)).data)
        },
      })
    },
    async say(text: string) {
      const content = await web.sealMessage(roomKey, text)
      await create('room-messages', { content, keyEpoch: 0 }, { room: to('rooms', room) })
    },
    shown: () => [...shown].toSorted(([one], [other]) => Number(one) - Number(other)).map(([, text]) => text),
  }
}

export type RoomWindow = Awaited<ReturnType<typeof openRoomWindow>>
