import { createHash, randomBytes } from 'node:crypto'
import { type Client, createApiClient, type JsonApiApp, startJsonApi, toOne } from '../json-api/client.ts'

/** The service with more people: `ada` makes rooms, invites as often as she likes, and each of the others can be anything in them. */
export async function startRooms(settings: Record<string, string> = {}) {
  const svc = await startJsonApi({ PEOPLE_SEARCHES_PER_MINUTE: '10000', ...settings })
  const person = (username: string) => svc.user({ username, abilities: ['user', 'read', 'write', 'keychain'] })
  // One after the other, so that their ids have the order of their names.
  const [cyd, dan, eve] = [await person('cyd'), await person('dan'), await person('eve')]
  return Object.assign(svc, {
    people: { ...svc.people, cyd, dan, eve },
    cyd: createApiClient(svc, cyd.token),
    dan: createApiClient(svc, dan.token),
    eve: createApiClient(svc, eve.token),
  })
}

export type RoomsApp = Awaited<ReturnType<typeof startRooms>>
export type PersonName = keyof RoomsApp['people']
type OwnName = Exclude<PersonName, 'admin'>

let casts = 0

/** The same service, in which those who are named are people of one test's own: their rooms, invitations and keys are nobody else's. */
export async function withOwnPeople(svc: RoomsApp, ...names: OwnName[]): Promise<RoomsApp> {
  const own = { ...svc, people: { ...svc.people } }
  casts += 1
  for (const name of names) {
    const person = await svc.user({ username: `${name}${casts}`, abilities: ['user', 'read', 'write', 'keychain'] })
    own.people[name] = person
    own[name] = createApiClient(svc, person.token)
  }
  return own
}
export type Role = 'admin' | 'editor' | 'viewer'

/** A wrapped key of a room. */
export const KEY = 'd3JhcHBlZCBrZXk='

/** Creates a link's secret, of which the service gets a proof, and before that the proof's hash. */
export function createLink() {
  const proof = randomBytes(24).toString('base64url')
  return { proof, proofHash: createHash('sha256').update(proof).digest('base64url') }
}

export async function makeRoom(by: Client, attributes: object = { name: 'Chess' }): Promise<string> {
  const { status, text, one } = await by.create('rooms', attributes)
  if (status !== 201) throw new Error(text)
  return one.id
}

export const invite = (by: Client, room: string, user: number | undefined, role: Role, more: object = {}) =>
  by.create(
    'room-members',
    { role, wrappedKey: KEY, keyEpoch: 0, ...more },
    { room: toOne('rooms', room), ...(user !== undefined && { user: toOne('users', user) }) },
  )

export const accept = (by: Client, id: string, body: object = {}) => by.post(`/room-members/${id}/actions/accept`, body)

/** Invites somebody, who accepts; returns the id of their membership. */
export async function joinRoom(svc: RoomsApp, room: string, name: PersonName, role: Role, by: Client = svc.ada) {
  const invitation = await invite(by, room, svc.people[name].id, role)
  const membership = await accept(svc[name], invitation.one?.id)
  if (membership.status !== 200) throw new Error(`${invitation.text} ${membership.text}`)
  return membership.one.id
}

/** The membership of a person, as the database has it. */
export async function readMembership({ rows }: JsonApiApp, room: string, user: number) {
  const [row] = await rows<{ id: string; role: Role; state: string }>(
    `select id::text, role, state from room_members where room_id = $1 and user_id = $2 and state <> 'invited'`,
    [room, user],
  )
  return row
}

export const WRAPPED = 'bmV4dCBrZXk='
/** The proof of a member that they have a key of a room. */
export const PROOF = Buffer.alloc(32, 7).toString('base64')
export const PREVIOUS = 'aXY=|dGFn|a2V5'

interface Recipients {
  keyEpoch: number
  version: string
  isKeyExposed: boolean
  recipients: {
    id: string
    publicKey: string
    proof: string | null
    proofEpoch: number | null
    hasKey: boolean
    keysChangedAt: string | null
  }[]
  withoutKeys: string[]
}

export const readRecipients = async (by: Client, room: string) =>
  (await by.get(`/rooms/${room}/actions/key-recipients`)).meta as unknown as Recipients

/** Builds the next key of a room like a browser. */
export async function buildNextKey(by: Client, room: string) {
  const { keyEpoch, version, recipients } = await readRecipients(by, room)
  const keys = recipients.map(({ id }) => ({ user: id, wrappedKey: WRAPPED }))
  return { keyEpoch, recipients: version, keys, previousKey: PREVIOUS as string | undefined }
}

export const postKey = (by: Client, room: string, body: object) => by.post(`/rooms/${room}/actions/rekey`, body)
export const rekeyRoom = async (by: Client, room: string) => postKey(by, room, await buildNextKey(by, room))
