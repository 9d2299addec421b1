import { invitationFragment, invitationProof, makeInvitationSecret } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { keyringOf } from './keyring.ts'
import { ownId, type Role, type Room } from './room.ts'
import { refreshRooms } from './rooms.ts'

/** Somebody who can be invited. */
export type FoundPerson = Awaited<ReturnType<typeof api.users.findPeople.mutate>>['meta']['people'][number]

export async function findPeople(query: string): Promise<FoundPerson[]> {
  const { meta } = await api.users.findPeople.mutate({ query })
  return meta.people
}

/** Invites somebody; who has no keys yet is kept in mind, and false returned. */
export async function invitePerson(session: Session, room: Room, person: FoundPerson, role: Role): Promise<boolean> {
  const { id, username, publicKey } = person
  if (!publicKey) {
    keepWaiting(session, room.id, [
      ...listWaiting(session, room.id).filter((each) => each.username !== username),
      { username, role },
    ])
    return false
  }
  const keyring = keyringOf(session)
  const wrappedKey = await keyring.wrapFor(publicKey, await roomKey(session, room))
  await api.roomMembers.create.mutate({ room: room.id, user: String(id), role, wrappedKey, keyEpoch: room.keyEpoch })
  return true
}

/** Makes a link that lets in whoever opens it first. Its secret stays behind the `#`, which no server is sent. */
export async function makeLink(session: Session, room: Room, role: Role): Promise<string> {
  const { secret, proofHash } = await makeInvitationSecret()
  const wrappedKey = await keyringOf(session).wrapForLink(secret, await roomKey(session, room))
  const { id } = await api.roomMembers.create.mutate({
    ...{ room: room.id, role, wrappedKey, keyEpoch: room.keyEpoch, proofHash },
  })
  return `${location.origin}/rooms/join${invitationFragment(id, secret)}`
}

async function roomKey(session: Session, room: Room): Promise<string> {
  const key = (await keyringOf(session).keysOf(room)).get(room.keyEpoch)
  if (key === undefined) throw new Error('There is no key to invite with.')
  return key
}

const proofOf = async (secret: string | undefined) =>
  secret === undefined ? {} : { proof: await invitationProof(secret) }

export async function previewInvitation(id: string, secret?: string) {
  const { meta } = await api.roomMembers.preview.mutate({ id, ...(await proofOf(secret)) })
  return meta
}

/** Accepts an invitation, and keeps the key of the room. Returns the slug of the room. */
export async function acceptInvitation(session: Session, id: string, secret?: string): Promise<string> {
  const { data, meta } = await api.roomMembers.accept.mutate({ id, ...(await proofOf(secret)) })
  const related = data.relations?.['room']
  const roomId = related && !Array.isArray(related) ? related.id : ''
  const { slug } = await api.rooms.get.query({ id: roomId })
  await keyringOf(session).accept(slug, meta.keyEpoch, meta.wrappedKey, secret)
  await refreshRooms()
  return slug
}

// People without keys, whose invitations follow once they have some.

export interface WaitingPerson {
  username: string
  role: Role
}

const slotOf = (session: Session, room: string) => `svc:waiting:${ownId(session)}:${room}`

export const listWaiting = (session: Session, room: string): WaitingPerson[] =>
  JSON.parse(localStorage.getItem(slotOf(session, room)) ?? '[]') as WaitingPerson[]

export function forgetWaiting(session: Session, room: string, username: string): void {
  const others = listWaiting(session, room).filter((each) => each.username !== username)
  keepWaiting(session, room, others)
}

function keepWaiting(session: Session, room: string, people: readonly WaitingPerson[]): void {
  if (people.length === 0) localStorage.removeItem(slotOf(session, room))
  else localStorage.setItem(slotOf(session, room), JSON.stringify(people))
}

/** Invites those who have made keys since. */
export async function inviteWaiting(session: Session, room: Room): Promise<void> {
  for (const { username, role } of listWaiting(session, room.id)) {
    const person = (await findPeople(username)).find((each) => each.username === username)
    if (!person?.publicKey) continue
    await invitePerson(session, room, person, role)
    forgetWaiting(session, room.id, username)
  }
}
