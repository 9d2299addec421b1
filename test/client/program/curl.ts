import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Message, Surface } from './surface.ts'

interface Document {
  data: { id: string; attributes: Message & { roomDescription: string | null } }
  meta: Record<string, never>
}

/** Implements the surface over the JSON:API, with one run of `curl` for each request. */
export function overCurl(url: string, token: string): Surface {
  async function sendRequest(method: string, path: string, body?: object): Promise<Document> {
    const given = ['-H', 'content-type: application/vnd.api+json', '--data-binary', '@-']
    const headers = ['-H', `authorization: Bearer ${token}`, ...(body ? given : [])]
    const curl = spawn('curl', ['-sS', '--globoff', '--fail-with-body', '-X', method, ...headers, `${url}${path}`])
    curl.stdin.end(body && JSON.stringify(body))
    const [answer, error] = await Promise.all([text(curl.stdout), text(curl.stderr)])
    if (error) throw new Error(`${method} ${path}: ${error} ${answer}`)
    return JSON.parse(answer) as Document
  }
  const read = async (path: string) => (await sendRequest('GET', path)).data.attributes
  const list = async (path: string) => (await sendRequest('GET', path)).data as unknown as Document['data'][]
  const post = (path: string, body: object) => sendRequest('POST', path, body)
  const actions = (member: string, name: string) => `/room-members/${member}/actions/${name}`
  const messageBody = (content: string, keyEpoch: number) => ({
    type: 'room-messages',
    attributes: { content, keyEpoch },
  })

  return {
    storeKeys: (publicKey, set) => post('/user-keychain-values/actions/batch-update', { publicKey, set }),
    preview: async (id, proof) => (await post(actions(id, 'preview'), { proof })).meta['roomName'] ?? '',
    accept: async (id, proof) => (await post(actions(id, 'accept'), { proof })).meta as never,
    write: async (room, content, keyEpoch) => {
      const relationships = { room: { data: { type: 'rooms', id: room } } }
      return (await post('/room-messages', { data: { ...messageBody(content, keyEpoch), relationships } })).data.id
    },
    edit: (id, content) =>
      sendRequest('PATCH', `/room-messages/${id}`, { data: { type: 'room-messages', id, attributes: { content } } }),
    messages: async (room) => (await list(`/rooms/${room}/messages?sort=number`)).map(({ attributes }) => attributes),
    message: (id) => read(`/room-messages/${id}`),
    markRead: (room, upTo) => post(`/rooms/${room}/actions/mark-read`, { upTo }),
    description: async (room) => (await read(`/rooms/${room}`)).roomDescription,
    changes: async (room, after) => {
      const query = after === undefined ? '' : `?page[after]=${after}`
      return (await sendRequest('GET', `/rooms/${room}/actions/changes${query}`)).meta as never
    },
    storedKeys: async (room) => (await sendRequest('GET', `/rooms/${room}/actions/keys`)).meta['keys'] as never,
  }
}
