import { beforeAll, expect, test } from 'vitest'
import { type Client, createApiClient, toOne } from '../kit/json-api/client.ts'
import { accept, invite, KEY, startRooms } from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const kinds = [
  'admin',
  'editor',
  'viewer',
  'invited',
  'removed',
  'stranger',
  'guest',
  'reading',
  'installation',
] as const
type Kind = (typeof kinds)[number]

/**
 * The statuses of what each kind of caller asks of a room and of what belongs to it. `reading` is an administrator of the
 * room by a token that only reads, `installation` an administrator of the installation who is no member.
 */
const table = `
                               admin editor viewer invited removed stranger guest reading installation
  read the room                200   200    200    404     404     404      401   200     200
  find the room in the list    200   200    200    404     404     404      401   200     200
  follow the room              200   200    200    404     404     404      401   200     404
  change the room              200   403    403    404     404     404      401   403     403
  delete the room              200   403    403    404     404     404      401   403     200
  make a room                  201   201    201    201     201     201      401   403     201
  read a member                200   200    200    404     404     404      401   200     404
  find a member in the list    200   200    200    404     404     404      401   200     404
  find the members of the room 200   200    200    404     404     404      401   200     404
  read who was removed         200   200    200    404     404     404      401   200     404
  find who was removed         404   404    404    404     404     404      401   404     404
  include members and people   200   200    200    404     404     404      401   200     404
  name another role            200   403    403    404     404     404      401   403     404
  raise oneself                200   403    403    403     404     404      401   403     404
  remove a member              200   403    403    404     404     404      401   403     404
  invite somebody              201   403    403    404     404     404      401   403     403
  read an invitation           200   404    404    404     404     404      401   200     404
  withdraw an invitation       200   404    404    404     404     404      401   403     404
  accept that of another       404   404    404    404     404     404      401   403     404
  read the own invitation      404   404    404    200     404     404      401   404     404
  accept the own invitation    404   404    404    200     404     404      401   403     404
  decline the own invitation   404   404    404    200     404     404      401   403     404
  leave the room               200   200    200    404     404     404      401   403     404
  read a message               200   200    200    404     404     404      401   200     404
  find a message in the list   200   200    200    404     404     404      401   200     404
  find a message of the room   200   200    200    404     404     404      401   200     404
  read the author of a message 200   200    200    404     404     404      401   200     404
  read the room of a message   200   200    200    404     404     404      401   200     404
  write a message              201   201    403    404     404     404      401   403     404
  change the message of others 403   403    403    404     404     404      401   403     404
  delete the message of others 200   403    403    404     404     404      401   403     404
  mark messages as read        200   200    200    404     404     404      401   403     404
`
const [head = '', ...lines] = table.trim().split('\n')
const columns = head.trim().split(/\s+/)

interface Place {
  room: string
  /** Ids of the room's rows by name: memberships of each role, another member and invitations. */
  ids: Record<string, string>
  client: Client
  /** The id of the caller's membership or invitation; an unused id if there is none. */
  own: string
}

const found = async (response: Promise<{ status: number; list: { id: string }[] }>, id: string) => {
  const { status, list } = await response
  return status === 200 && !list.some((one) => one.id === id) ? 404 : status
}

const CONTENT = 'aXY=|dGFn|Y2lwaGVy'

/** Actions by name, each with its status; 404 also where the object is missing in a list. */
const actions: Record<string, (place: Place) => Promise<number>> = {
  'read the room': async ({ client, room }) => (await client.get(`/rooms/${room}`)).status,
  'find the room in the list': ({ client, room }) => found(client.get('/rooms?page[size]=200&sort=-id'), room),
  'follow the room': async ({ client, room }) => (await client.get(`/rooms/${room}/actions/changes`)).status,
  'change the room': async ({ client, room }) => (await client.update('rooms', room, { name: 'Other' })).status,
  'delete the room': async ({ client, room }) => (await client.delete(`/rooms/${room}`)).status,
  'make a room': async ({ client }) => (await client.create('rooms', { name: 'Mine' })).status,
  'read a member': async ({ client, ids }) => (await client.get(`/room-members/${ids['other']}`)).status,
  'find a member in the list': ({ client, ids }) =>
    found(client.get('/room-members?page[size]=500&sort=-id'), ids['other'] ?? ''),
  'find the members of the room': ({ client, ids, room }) =>
    found(client.get(`/rooms/${room}/members`), ids['other'] ?? ''),
  'read who was removed': async ({ client, ids }) => (await client.get(`/room-members/${ids['gone']}`)).status,
  'find who was removed': ({ client, ids, room }) => found(client.get(`/rooms/${room}/members`), ids['gone'] ?? ''),
  'include members and people': async ({ client, room }) => {
    const { status, included } = await client.get(`/rooms/${room}?include=members.user`)
    return status === 200 && included.length === 0 ? 404 : status
  },
  'name another role': async ({ client, ids }) =>
    (await client.update('room-members', ids['other'] ?? '', { role: 'editor' })).status,
  'raise oneself': async ({ client, own }) => (await client.update('room-members', own, { role: 'admin' })).status,
  'remove a member': async ({ client, ids }) => (await client.delete(`/room-members/${ids['other']}`)).status,
  'invite somebody': async ({ client, room, ids }) =>
    (await invite(client, room, Number(ids['newcomer']), 'viewer')).status,
  'read an invitation': async ({ client, ids }) => (await client.get(`/room-members/${ids['invitation']}`)).status,
  'withdraw an invitation': async ({ client, ids }) =>
    (await client.delete(`/room-members/${ids['invitation']}`)).status,
  'accept that of another': async ({ client, ids }) => (await accept(client, ids['invitation'] ?? '')).status,
  'read the own invitation': async ({ client, own }) =>
    own.startsWith('invitation') ? (await client.get(`/room-members/${own}`)).status : missing(client, '/room-members'),
  'accept the own invitation': async ({ client, own, ids }) =>
    (await accept(client, own.startsWith('invitation') ? own : (ids['invitation'] ?? ''))).status,
  'decline the own invitation': async ({ client, own }) =>
    (await client.delete(`/room-members/${own.startsWith('invitation') ? own : 'invitation-999999'}`)).status,
  'leave the room': async ({ client, own }) =>
    (await client.delete(`/room-members/${own.startsWith('invitation') ? '999999' : own}`)).status,
  'read a message': async ({ client, ids }) => (await client.get(`/room-messages/${ids['message']}`)).status,
  'find a message in the list': ({ client, ids }) =>
    found(client.get('/room-messages?page[size]=200&sort=-id'), ids['message'] ?? ''),
  'find a message of the room': ({ client, ids, room }) =>
    found(client.get(`/rooms/${room}/messages`), ids['message'] ?? ''),
  'read the author of a message': async ({ client, ids }) =>
    (await client.get(`/room-messages/${ids['message']}/member`)).status,
  'read the room of a message': async ({ client, ids }) =>
    (await client.get(`/room-messages/${ids['message']}/relationships/room`)).status,
  'write a message': async ({ client, room }) =>
    (await client.create('room-messages', { content: CONTENT, keyEpoch: 0 }, { room: toOne('rooms', room) })).status,
  'change the message of others': async ({ client, ids }) =>
    (await client.update('room-messages', ids['message'] ?? '', { content: CONTENT })).status,
  'delete the message of others': async ({ client, ids }) =>
    (await client.delete(`/room-messages/${ids['message']}`)).status,
  'mark messages as read': async ({ client, room, ids }) =>
    (await client.post(`/rooms/${room}/actions/mark-read`, { upTo: ids['message'] })).status,
}

/** A proof that belongs to no invitation. */
const missing = async (client: Client, path: string) => (await client.get(`${path}/invitation-999999`)).status

let callers: Record<Kind, { client: Client; user: number }>
let others: number[]
const svc = shareResource(() => startRooms({ ROOMS_PER_PERSON: '1000' }))
beforeAll(async () => {
  const { ada, bob, cyd, dan, eve, admin } = svc.people
  const [fay, hal, newcomer] = [await svc.user(), await svc.user(), await svc.user()]
  const { token } = await svc.host.tokens.createFor({ user: { id: ada.id }, name: 'reads', abilities: ['read'] })
  callers = {
    admin: { client: svc.ada, user: ada.id },
    editor: { client: svc.bob, user: bob.id },
    viewer: { client: svc.cyd, user: cyd.id },
    invited: { client: svc.dan, user: dan.id },
    removed: { client: svc.eve, user: eve.id },
    stranger: {
      client: createApiClient(svc, (await svc.user({ abilities: ['user', 'read', 'write'] })).token),
      user: 0,
    },
    guest: { client: svc.guest, user: 0 },
    reading: { client: createApiClient(svc, token), user: ada.id },
    installation: { client: svc.admin, user: admin.id },
  }
  others = [fay.id, hal.id, newcomer.id]
})

/** Creates a room with one member of each role, a second administrator and a message of theirs. */
async function placeFor(kind: Kind): Promise<Place> {
  const [fay, hal, newcomer] = others
  const one = async <Row>(text: string, values: unknown[]) => (await svc.rows<Row>(text, values))[0] as Row
  const { id: room } = await one<{ id: number }>(
    `insert into rooms (name, slug) values ('R', gen_random_uuid()::text) returning id`,
    [],
  )
  const member = async (user: number | undefined, role: string, state = 'member') => {
    const isInvited = state === 'invited'
    const values = [room, user, role, state, isInvited ? KEY : null, isInvited ? 0 : null]
    const { id } = await one<{ id: number }>(
      `insert into room_members (room_id, user_id, role, state, wrapped_key, key_epoch, expires_at)
       values ($1, $2, $3, $4, $5, $6, case when $4 = 'invited' then now() + interval '1 day' end) returning id`,
      values,
    )
    return isInvited ? `invitation-${id}` : `${id}`
  }
  const { admin, editor, viewer, invited, removed } = callers
  const second = await member(fay, 'admin')
  const ids: Record<string, string> = {
    admin: await member(admin.user, 'admin'),
    editor: await member(editor.user, 'editor'),
    viewer: await member(viewer.user, 'viewer'),
    invited: await member(invited.user, 'viewer', 'invited'),
    removed: await member(removed.user, 'editor', 'removed'),
    other: second,
    invitation: await member(hal, 'admin', 'invited'),
    newcomer: `${newcomer}`,
  }
  const { id: message } = await one<{ id: number }>(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch) values ($1, $2, 1, 1, $3, 0) returning id`,
    [room, second, CONTENT],
  )
  const own = ids[kind === 'reading' ? 'admin' : kind] ?? '999999'
  return {
    room: `${room}`,
    ids: { ...ids, gone: ids['removed'] ?? '', message: `${message}` },
    client: callers[kind].client,
    own,
  }
}

const readState = (room: string) =>
  svc.rows(
    `select (select to_jsonb(r) from rooms r where r.id = $1) as room,
       (select jsonb_agg(m order by id) from room_members m where room_id = $1) as members,
       (select jsonb_agg(m order by id) from room_messages m where room_id = $1) as messages,
       (select jsonb_agg(k order by user_id) from room_read_marks k where room_id = $1) as marks`,
    [room],
  )

test('the table of who may do what in a room has every question, once', () => {
  expect(lines.map((line) => line.slice(0, 31).trim())).toEqual(Object.keys(actions))
})

test.for(lines)('who may do what in a room: %s', async (line) => {
  const question = line.slice(0, 31).trim()
  const statuses = line.slice(31).trim().split(/\s+/).map(Number)
  for (const [index, kind] of columns.entries()) {
    const place = await placeFor(kind as Kind)
    const before = await readState(place.room)

    const status = await actions[question]?.(place)

    expect([kind, question, status]).toEqual([kind, question, statuses[index]])
    if (status !== undefined && status >= 300) expect(await readState(place.room)).toEqual(before)
  }
})
