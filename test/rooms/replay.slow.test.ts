// @module-tag debian

import { randomUUID } from 'node:crypto'
import type { AnyTRPCProcedure } from '@trpc/server'
import { describe, expect, test } from 'vitest'
import { metaOf } from '../../routers/core/trpc.ts'
import { appRouter } from '../../routers/index.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { createApiClient, toOne } from '../kit/json-api/client.ts'
import { requestRoomAnswer, waitForAnswer } from '../kit/rooms/ai.ts'
import { sendAttachments, upload } from '../kit/rooms/attachments.ts'
import { followRooms, type RoomView, readView } from '../kit/rooms/follower.ts'
import { sendRoomMessage } from '../kit/rooms/messages.ts'
import {
  accept,
  createLink,
  invite,
  joinRoom,
  KEY,
  makeRoom,
  PROOF,
  readMembership,
  rekeyRoom,
  startRooms,
} from '../kit/rooms/rooms.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startRooms({ ROOMS_PER_PERSON: '1000', ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' }))

/** A room that `ada` administers, in which `bob` writes and `cyd` reads, with some messages; `dan` is invited to it. */
async function makeWorld() {
  const room = await makeRoom(svc.ada)
  await joinRoom(svc, room, 'bob', 'editor')
  await joinRoom(svc, room, 'cyd', 'viewer')
  const first = (await sendRoomMessage(svc.bob, room)).one.id
  await sendRoomMessage(svc.ada, room, {}, first)
  const { one: file } = await upload(svc, svc.people.bob.token, 'Hello')
  await sendAttachments(svc.bob, room, [file.id])
  const invitation = (await invite(svc.ada, room, svc.people.dan.id, 'viewer')).one.id
  const member = async (name: 'ada' | 'bob' | 'cyd') => (await readMembership(svc, room, svc.people[name].id))?.id ?? ''
  return { room, first, invitation, member, attachment: file.id }
}

type World = Awaited<ReturnType<typeof makeWorld>>
type Answered = Promise<{ status: number; text: string }>

/** Asks the demo model in a room and waits for the end of the answer. */
async function answered(room: string) {
  const modelId = randomUUID()
  const { one: provider } = await svc.admin.create('ai-providers', {
    providerId: modelId,
    name: 'Demo',
    adapter: 'demo',
  })
  const values = { modelId, label: 'Demo', usageTypes: ['main', 'external'] }
  await svc.admin.create('ai-models', values, { provider: toOne('ai-providers', provider.id) })
  const answer = await requestRoomAnswer(svc.ada, room, 'Hello', { model: modelId })
  await waitForAnswer(svc.ada, room)
  return answer
}

/** Every way in which a procedure changes rooms, members, invitations, messages or read marks. */
const table: Record<string, Record<string, (world: World) => Answered>> = {
  'rooms.create': { 'a room is made': () => svc.bob.create('rooms', { name: 'Go' }) },
  'rooms.update': { 'a room is renamed': ({ room }) => svc.ada.update('rooms', room, { name: 'Go' }) },
  'rooms.delete': {
    'a room is deleted': ({ room }) => svc.ada.delete(`/rooms/${room}`),
    'an administrator of the installation deletes a room': ({ room }) => svc.admin.delete(`/rooms/${room}`),
  },
  'rooms.markRead': {
    'a viewer reads': ({ room, first }) => svc.cyd.post(`/rooms/${room}/actions/mark-read`, { upTo: first }),
  },
  'rooms.arrange': {
    'a room is muted': ({ room }) => svc.cyd.post(`/rooms/${room}/actions/arrange`, { isMuted: true }),
  },
  'rooms.ask': { 'a model answers': ({ room }) => answered(room) },
  'rooms.cancelAnswer': {
    'an answer is cancelled': async ({ room }) => {
      const { meta } = await answered(room)
      return svc.ada.post(`/rooms/${room}/actions/cancel-answer`, { disclosure: meta['disclosure'] })
    },
  },
  'roomMembers.create': {
    'somebody is invited': ({ room }) => invite(svc.ada, room, svc.people.eve.id, 'editor'),
    'somebody is invited again': ({ room }) => invite(svc.ada, room, svc.people.dan.id, 'editor'),
    'whoever has the link is invited': ({ room }) =>
      invite(svc.ada, room, undefined, 'viewer', { proofHash: createLink().proofHash }),
  },
  'roomMembers.inviteByName': {
    'people are invited by their names, one of them again': async ({ room }) => {
      const invitations = ['eve', 'dan'].map((username) => ({ username, role: 'viewer', wrappedKey: KEY }))
      const { token } = svc.people.ada
      const answer = await svc.send('POST', '/trpc/roomMembers.inviteByName', { token, body: { room, invitations } })
      return { status: answer.status, text: await answer.text() }
    },
  },
  'roomMembers.preview': {
    'an invitation is looked at': ({ invitation }) => svc.dan.post(`/room-members/${invitation}/actions/preview`, {}),
  },
  'roomMembers.accept': {
    'an invitation is accepted': ({ invitation }) => accept(svc.dan, invitation),
    'somebody comes back': async ({ room, member }) => {
      await svc.ada.delete(`/room-members/${await member('bob')}`)
      return accept(svc.bob, (await invite(svc.ada, room, svc.people.bob.id, 'viewer')).one.id)
    },
  },
  'roomMembers.update': {
    'a role is changed': async ({ member }) => svc.ada.update('room-members', await member('bob'), { role: 'viewer' }),
    'another one administers the room, too': async ({ member }) =>
      svc.ada.update('room-members', await member('cyd'), { role: 'admin' }),
  },
  'roomMembers.delete': {
    'a member is removed': async ({ member }) => svc.ada.delete(`/room-members/${await member('bob')}`),
    'a member leaves': async ({ member }) => svc.cyd.delete(`/room-members/${await member('cyd')}`),
    'an invitation is declined': ({ invitation }) => svc.dan.delete(`/room-members/${invitation}`),
    'an invitation is withdrawn': ({ invitation }) => svc.ada.delete(`/room-members/${invitation}`),
    'the last person leaves': async () => {
      const room = await makeRoom(svc.eve)
      const membership = await readMembership(svc, room, svc.people.eve.id)
      return svc.eve.delete(`/room-members/${membership?.id}`)
    },
  },
  'roomMessages.create': {
    'a message is sent': ({ room }) => sendRoomMessage(svc.ada, room),
    'a message with an attachment is sent': async ({ room }) => {
      const { one } = await upload(svc, svc.people.ada.token, 'Hello')
      return sendAttachments(svc.ada, room, [one.id])
    },
    'a reply is sent': ({ room, first }) => sendRoomMessage(svc.ada, room, {}, first),
  },
  'roomMessages.update': {
    'a message is edited': ({ first }) => svc.bob.update('room-messages', first, { content: 'bmV3|bmV3|bmV3' }),
  },
  'roomMessages.delete': {
    'a message is deleted': ({ first }) => svc.ada.delete(`/room-messages/${first}`),
  },
  'attachments.upload': {
    'a file is uploaded': () => upload(svc, svc.people.bob.token, 'Hello'),
  },
  'attachments.delete': {
    'an attachment is deleted': ({ attachment }) => svc.ada.delete(`/attachments/${attachment}`),
  },
  'roomKeys.prove': {
    'a member proves their key': ({ room }) =>
      svc.cyd.post(`/rooms/${room}/actions/prove-key`, { keyEpoch: 0, proof: PROOF }),
  },
  'roomKeys.rekey': { 'a room gets its next key': ({ room }) => rekeyRoom(svc.bob, room) },
  'userKeychainValues.batchUpdate': {
    'a member makes new keys': () =>
      svc.cyd.post('/user-keychain-values/actions/batch-update', {
        publicKey: makePublicKey(randomUUID()),
      }),
  },
  'users.update': {
    'a member gets another name': () => svc.bob.update('users', svc.people.bob.id, { displayName: randomUUID() }),
    'whoever invites gets another name': () =>
      svc.ada.update('users', svc.people.ada.id, { displayName: randomUUID() }),
    'an invited person gets another name': () =>
      svc.dan.update('users', svc.people.dan.id, { displayName: randomUUID() }),
  },
  'users.delete': {
    'the only administrator of a room is erased': async ({ room, member }) => {
      const lone = await svc.user({ abilities: ['read', 'write', 'user'] })
      const client = createApiClient(svc, lone.token)
      await accept(client, (await invite(svc.ada, room, lone.id, 'admin')).one.id)
      await svc.ada.delete(`/room-members/${await member('ada')}`)
      return svc.admin.delete(`/users/${lone.id}`)
    },
  },
}

const types = ['rooms', 'room-members', 'room-messages', 'attachments']

test('every procedure that changes rooms, members or messages is in the table', () => {
  const procedures = Object.entries(appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>)
  const changing = procedures.filter(
    ([, procedure]) =>
      procedure._def.type === 'mutation' && types.includes(metaOf(procedure).exposes?.resource.type ?? ''),
  )

  expect(Object.keys(table)).toEqual(expect.arrayContaining(changing.map(([name]) => name)))
})

const cases = Object.entries(table).flatMap(([procedure, ways]) =>
  Object.entries(ways).map(([way, run]) => ({ procedure, way, run })),
)

/** An administrator of the installation sees that rooms exist but cannot subscribe to them. */
const watchers = ['ada', 'bob', 'cyd', 'dan', 'eve'] as const

describe('the state before and the changes since make what a fresh read shows', () => {
  test.for(cases)('when $way ($procedure)', async ({ run }) => {
    const world = await makeWorld()
    const followers = await Promise.all(watchers.map(async (name) => [name, await followRooms(svc[name])] as const))

    const { status, text } = await run(world)
    expect([status, status < 300 ? '' : text]).toEqual([status < 300 ? status : 200, ''])

    for (const [name, follower] of followers) {
      await follower.catchUp()
      expect({ name, sight: plain(follower.sight) }).toEqual({ name, sight: plain(await readView(svc[name])) })
    }
    // Old rooms are deleted, as each follower reads everything it sees.
    await svc.admin.delete(`/rooms/${world.room}`)
  })
})

const plain = (sight: RoomView) =>
  Object.fromEntries(
    [...sight]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([key, { attributes, relationships }]) => [
        key,
        { ...attributes, files: relationships?.['attachments']?.data },
      ]),
  )
