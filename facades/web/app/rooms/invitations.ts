import { invitationFragment, invitationProof, makeInvitationSecret } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { isRecord, readStored } from '../shared/local-store.ts'
import { type FoundPerson, findPeople } from '../shared/people-search.tsx'
import type { Session } from '../shared/session.tsx'
import { getKeyring } from './keyring.ts'
import { getOwnId, type Role, type Room } from './room.ts'
import { refreshRooms } from './rooms.ts'

/** Invites a person. Returns false for one without keys, who is remembered and invited later. */
export async function invitePerson(session: Session, room: Room, person: FoundPerson, role: Role): Promise<boolean> {
  const { id, username, publicKey } = person
  if (!publicKey) {
    storePendingPeople(session, room.id, [
      ...listPendingPeople(session, room.id).filter((each) => each.username !== username),
      { username, role },
    ])
    return false
  }
  const keyring = getKeyring(session)
  const wrappedKey = await keyring.wrapFor({ id: String(id), publicKey }, await getRoomKey(session, room))
  await api.roomMembers.create.mutate({ room: room.id, user: String(id), role, wrappedKey, keyEpoch: room.keyEpoch })
  return true
}

/** Pins the public key that a person has now. */
export async function acceptKeyOf(session: Session, { id, publicKey }: FoundPerson): Promise<void> {
  if (publicKey) await getKeyring(session).acceptKey({ id: String(id), publicKey })
}

/**
 * Creates a link that admits the first person who opens it. Its secret is in the fragment, which browsers never send.
 */
export async function createInvitationLink(session: Session, room: Room, role: Role): Promise<string> {
  const { secret, proofHash } = await makeInvitationSecret()
  const wrappedKey = await getKeyring(session).wrapForLink(secret, await getRoomKey(session, room))
  const { id } = await api.roomMembers.create.mutate({
    room: room.id,
    role,
    wrappedKey,
    keyEpoch: room.keyEpoch,
    proofHash,
  })
  return `${location.origin}/rooms/join${invitationFragment(id, secret)}`
}

async function getRoomKey(session: Session, room: Room): Promise<string> {
  const key = (await getKeyring(session).getKeys(room)).get(room.keyEpoch)
  if (key === undefined) throw new Error('There is no key to invite with.')
  return key
}

const buildProof = async (secret: string | undefined) =>
  secret === undefined ? {} : { proof: await invitationProof(secret) }

export async function previewInvitation(id: string, secret?: string) {
  const { meta } = await api.roomMembers.preview.mutate({ id, ...(await buildProof(secret)) })
  return meta
}

/** Accepts an invitation and stores the key of the room. Returns the slug of the room. */
export async function acceptInvitation(session: Session, id: string, secret?: string): Promise<string> {
  const { data, meta } = await api.roomMembers.accept.mutate({ id, ...(await buildProof(secret)) })
  const { slug } = await api.rooms.get.query({ id: getRelatedId(data, 'room') ?? '' })
  await getKeyring(session).storeInvitationKey(slug, meta.keyEpoch, meta.wrappedKey, secret)
  await refreshRooms()
  return slug
}

// People without keys, who are invited once they have some.

export interface PendingPerson {
  username: string
  role: Role
}

const getStorageKey = (session: Session, room: string) => `svc:waiting:${getOwnId(session)}:${room}`

export const listPendingPeople = (session: Session, room: string): PendingPerson[] =>
  readStored(getStorageKey(session, room), isPendingList) ?? []

const isPendingList = (value: unknown): value is PendingPerson[] =>
  Array.isArray(value) && value.every((each) => isRecord(each) && typeof each['username'] === 'string')

export function forgetPendingPerson(session: Session, room: string, username: string): void {
  const others = listPendingPeople(session, room).filter((each) => each.username !== username)
  storePendingPeople(session, room, others)
}

function storePendingPeople(session: Session, room: string, people: readonly PendingPerson[]): void {
  if (people.length === 0) localStorage.removeItem(getStorageKey(session, room))
  else localStorage.setItem(getStorageKey(session, room), JSON.stringify(people))
}

/** Invites the pending people who have created keys since. One who cannot be invited keeps nobody else waiting. */
export async function invitePendingPeople(session: Session, room: Room): Promise<void> {
  for (const { username, role } of listPendingPeople(session, room.id)) {
    const person = (await findPeople(username)).find((each) => each.username === username)
    if (!person?.publicKey) continue
    const isInvited = await invitePerson(session, room, person, role).catch(() => false)
    if (isInvited) forgetPendingPerson(session, room.id, username)
  }
}
