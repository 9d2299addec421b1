import type { Client, Resource } from '../json-api/client.ts'

interface Change {
  kind: string
  subject: string
}

const MORE = 'page[size]=200'
const WITH_FILES = 'include=attachments'

/** Rooms and their contents as a person sees them, by `{type}/{id}`. */
export type RoomView = Map<string, Resource>

/** Reads everything that a person sees of rooms, members, invitations and messages. */
export async function readView(client: Client): Promise<RoomView> {
  const sight: RoomView = new Map()
  for (const path of ['/rooms?', '/room-members?', `/room-messages?${WITH_FILES}&`])
    for (const resource of await listAll(client, path)) sight.set(keyOf(resource), resource)
  return sight
}

async function listAll(client: Client, path: string): Promise<Resource[]> {
  const resources: Resource[] = []
  for (let number = 1; ; number++) {
    const { list, total } = await client.get(`${path}${MORE}&page[number]=${number}`)
    resources.push(...list)
    if (resources.length >= total || list.length === 0) return resources
  }
}

const keyOf = ({ type, id }: Pick<Resource, 'type' | 'id'>) => `${type}/${id}`

/**
 * A client that reads everything once and from then on only what the change log names: each position before its data. Messages
 * of a room change its count of unread ones, too.
 */
export async function followRooms(client: Client) {
  const positions = new Map<string, string>()
  const begin = async (path: string) => {
    const { status, meta } = await client.get(`${path}/actions/changes`)
    if (status === 200) positions.set(path, String(meta['position']))
  }
  await begin('/users/me')
  for (const { id } of await listAll(client, '/rooms?')) await begin(`/rooms/${id}`)
  const sight = await readView(client)

  async function read(key: string): Promise<void> {
    const { status, one } = await client.get(`/${key}${key.startsWith('room-messages/') ? `?${WITH_FILES}` : ''}`)
    // A former member is readable by id, but is in no list.
    if (status === 200 && one.attributes['state'] !== 'removed') sight.set(key, one)
    else sight.delete(key)
  }

  async function enter(id: string): Promise<void> {
    await begin(`/rooms/${id}`)
    for (const path of [`/rooms/${id}/members?`, `/rooms/${id}/messages?${WITH_FILES}&`])
      for (const resource of await listAll(client, path)) sight.set(keyOf(resource), resource)
  }

  function leave(id: string): void {
    positions.delete(`/rooms/${id}`)
    for (const [key, { type, relationships }] of sight) {
      const isPart = relationships?.['room']?.data
      if (type !== 'rooms' && isPart && 'id' in isPart && isPart.id === id) sight.delete(key)
    }
  }

  async function apply({ kind, subject }: Change, path: string): Promise<void> {
    const [type = ''] = kind.split('.')
    await read(`${type}/${subject}`)
    if (type === 'room-messages') await read(path.slice(1))
    if (type !== 'rooms') return
    const isThere = sight.has(`rooms/${subject}`)
    if (isThere && !positions.has(`/rooms/${subject}`)) await enter(subject)
    if (!isThere) leave(subject)
  }

  /** Applies the next changes of a stream; returns whether there are more already. */
  async function step(path: string): Promise<boolean> {
    const { status, meta } = await client.get(`${path}/actions/changes?page[after]=${positions.get(path)}`)
    if (status === 404) return !positions.delete(path)
    if (status !== 200) throw new Error(`${path}: ${status}`)
    // Attachments are read with their messages, which change with them.
    const changes = (meta['changes'] as Change[]).filter(({ kind }) => !kind.startsWith('attachments.'))
    for (const change of changes) await apply(change, path)
    if (positions.has(path)) positions.set(path, String(meta['position']))
    return meta['hasMore'] === true && positions.has(path)
  }

  async function catchUp(path: string): Promise<void> {
    while (positions.has(path) && (await step(path))) {}
  }

  return {
    sight,
    async catchUp() {
      await catchUp('/users/me')
      for (const path of [...positions.keys()]) await catchUp(path)
    },
  }
}
