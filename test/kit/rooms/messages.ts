import { clientOf, type JsonApiApp, to } from '../json-api/client.ts'

export const CIPHERTEXT = 'aXY=|dGFn|Y2lwaGVy'

type Role = 'admin' | 'editor' | 'viewer'
type Changing = { changes: { seq: number; kind: string; subject: string }[]; position: string; hasMore: boolean }

/** Somebody who may call everything that rooms are about. */
export async function newPerson(svc: JsonApiApp) {
  const person = await svc.user({ abilities: ['read', 'write', 'user'] })
  return { ...person, ...clientOf(svc, person.token) }
}

export type RoomPerson = Awaited<ReturnType<typeof newPerson>>

/** A room whose people are its administrator and, by their roles, the others. */
export async function newRoom<const R extends Role>(svc: JsonApiApp, roles: readonly R[] = []) {
  const admin = await newPerson(svc)
  const { one } = await admin.create('rooms', { name: 'Chess' })
  const others = {} as Record<R, RoomPerson>
  for (const role of roles) others[role] = await join(svc, one.id, role)
  return {
    id: one.id,
    admin,
    ...others,
    /** Sends a message; `more` are attributes beside its content. */
    send: (by: Pick<RoomPerson, 'create'> = admin, more: object = {}, thread?: string) =>
      send(by, one.id, more, thread),
    changes: async (by: Pick<RoomPerson, 'get'>, after?: string) =>
      (await by.get(`/rooms/${one.id}/actions/changes${after ? `?page[after]=${after}` : ''}`)).meta as Changing,
  }
}

export const send = (by: Pick<RoomPerson, 'create'>, room: string, more: object = {}, thread?: string) =>
  by.create(
    'room-messages',
    { content: CIPHERTEXT, ...more },
    { room: to('rooms', room), ...(thread && { thread: to('room-messages', thread) }) },
  )

/** Makes somebody a member, as if they had been invited and had accepted. */
export async function join(svc: JsonApiApp, room: string, role: Role, person?: RoomPerson): Promise<RoomPerson> {
  const joining = person ?? (await newPerson(svc))
  await svc.rows('insert into room_members (room_id, user_id, role) values ($1, $2, $3)', [room, joining.id, role])
  return joining
}
