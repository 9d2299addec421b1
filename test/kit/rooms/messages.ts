import { createApiClient, type JsonApiApp, toOne } from '../json-api/client.ts'

export const CIPHERTEXT = 'aXY=|dGFn|Y2lwaGVy'

type Role = 'admin' | 'editor' | 'viewer'
type ChangesPage = { changes: { seq: number; kind: string; subject: string }[]; position: string; hasMore: boolean }

/** Creates a person with a token for all procedures of rooms. */
export async function createPerson(svc: JsonApiApp) {
  const person = await svc.user({ abilities: ['read', 'write', 'user'] })
  return { ...person, ...createApiClient(svc, person.token) }
}

export type RoomPerson = Awaited<ReturnType<typeof createPerson>>

/** Creates a room with an administrator and members of the given roles. */
export async function createRoom<const R extends Role>(svc: JsonApiApp, roles: readonly R[] = []) {
  const admin = await createPerson(svc)
  const { one } = await admin.create('rooms', { name: 'Chess' })
  const others = {} as Record<R, RoomPerson>
  for (const role of roles) others[role] = await addMember(svc, one.id, role)
  return {
    id: one.id,
    admin,
    ...others,
    /** Sends a message; `more` are attributes beside its content. */
    send: (by: Pick<RoomPerson, 'create'> = admin, more: object = {}, thread?: string) =>
      sendRoomMessage(by, one.id, more, thread),
    changes: async (by: Pick<RoomPerson, 'get'>, after?: string) =>
      (await by.get(`/rooms/${one.id}/actions/changes${after ? `?page[after]=${after}` : ''}`)).meta as ChangesPage,
  }
}

export const sendRoomMessage = (by: Pick<RoomPerson, 'create'>, room: string, more: object = {}, thread?: string) =>
  by.create(
    'room-messages',
    { content: CIPHERTEXT, ...more },
    { room: toOne('rooms', room), ...(thread && { thread: toOne('room-messages', thread) }) },
  )

/** Adds a member without an invitation. */
export async function addMember(svc: JsonApiApp, room: string, role: Role, person?: RoomPerson): Promise<RoomPerson> {
  const newMember = person ?? (await createPerson(svc))
  await svc.rows('insert into room_members (room_id, user_id, role) values ($1, $2, $3)', [room, newMember.id, role])
  return newMember
}
