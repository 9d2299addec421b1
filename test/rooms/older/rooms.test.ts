import { expect, test } from 'vitest'
import { openBrowser } from '../../kit/browser.ts'
import { PNG } from '../../kit/rooms/attachments.ts'
import {
  buildInvitation,
  encodeText,
  KEY,
  readError,
  sealText,
  sendFile,
  sendSuccessfully,
  startOlderRooms,
  uploadFile,
} from '../../kit/rooms/older-routes.ts'
import { shareResource } from '../../kit/share-resource.ts'

const older = shareResource(startOlderRooms)

const base = '/api/svc/v1'
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

test('a room lives from creation to deletion by the older routes alone', async () => {
  const { svc, ada, bob, cyd, invite, say } = older
  const made = await sendSuccessfully(ada, 'POST', '/req/room/createRoom', { room_name: 'Chess & Go' })
  const { slug, id } = made['roomData'] as { slug: string; id: number }
  expect(made).toMatchObject({
    success: true,
    roomData: { room_name: 'Chess & Go', slug: expect.stringMatching(/^chess-go-/) },
  })
  await sendSuccessfully(ada, 'POST', `/req/room/updateInfo/${slug}`, {
    description: '{"iv":"aXY="}',
    system_prompt: '{"iv":"dGFn"}',
  })

  await invite(slug, buildInvitation('bob', 'editor'), buildInvitation('cyd', 'viewer', { iv: 'aXY=', tag: 'dGFn' }))
  const { formattedInvitations } = await sendSuccessfully(bob, 'GET', '/req/inv/requestUserInvitations')
  const invitation = {
    room_slug: slug,
    role: 'editor',
    iv: '0',
    tag: '0',
    invitation: KEY,
    invitation_id: expect.any(Number),
  }
  expect(formattedInvitations).toEqual([invitation])
  const [{ invitation_id }] = formattedInvitations as [{ invitation_id: number }]
  expect(await readError(cyd, 'POST', '/req/inv/roomInvitationAccept', { invitation_id })).toEqual([404, 'not_found'])
  expect(await sendSuccessfully(bob, 'POST', '/req/inv/roomInvitationAccept', { invitation_id })).toMatchObject({
    success: true,
    room: { id, slug, room_name: 'Chess & Go', room_description: '{"iv":"aXY="}' },
  })
  const sealedFor = await sendSuccessfully(cyd, 'GET', `/req/inv/requestInvitation/${slug}`)
  expect(sealedFor).toMatchObject({ iv: 'aXY=', tag: 'dGFn', invitation: KEY, role: 'viewer' })
  await sendSuccessfully(cyd, 'POST', '/req/inv/roomInvitationAccept', { invitation_id: sealedFor['invitation_id'] })

  const file = await uploadFile(svc, ada, `/req/room/attachment/upload/${slug}`)
  expect(
    await say(slug, 'hello', { content: { text: encodeText('hello'), attachments: [file] }, metadata: { tools: [] } }),
  ).toMatchObject({
    message_id: '1.000',
    message_role: 'user',
    member_name: 'The ada',
    read_status: true,
    author: { username: 'ada', name: 'The ada', isRemoved: false },
    content: {
      text: encodeText('hello'),
      attachments: [{ fileData: { uuid: file, name: 'notes.txt', category: 'group' } }],
    },
    metadata: { tools: null, params: null },
  })
  expect(await say(slug, 'reply', { threadId: 1 }, bob)).toMatchObject({ message_id: '1.001', read_status: true })

  const one = `/req/room/message/get/${slug}/1.000`
  expect(await sendSuccessfully(cyd, 'GET', one)).toMatchObject({
    read_status: false,
    content: { text: encodeText('hello') },
  })
  await sendSuccessfully(cyd, 'POST', `/req/room/readstat/${slug}`, { message_id: '1.000' })
  expect(await sendSuccessfully(cyd, 'GET', one)).toMatchObject({ read_status: true })
  const edit = `/req/room/updateMessage/${slug}`
  const better = (attachments: string[]) => ({
    content: { text: encodeText('better'), attachments },
    message_id: '1.000',
  })
  const another = await uploadFile(svc, ada, `/req/room/attachment/upload/${slug}`)
  expect(await readError(ada, 'POST', edit, better([file, another]))).toEqual([422, '/content/attachments/1'])
  expect(await sendSuccessfully(ada, 'POST', edit, better([file]))).toMatchObject({
    messageData: { content: { attachments: [{ fileData: { uuid: file } }] } },
  })

  const room = await sendSuccessfully(cyd, 'GET', `/req/room/${slug}`)
  expect(room).toMatchObject({
    id,
    name: 'Chess & Go',
    slug,
    role: 'viewer',
    room_icon: '',
    system_prompt: '{"iv":"dGFn"}',
  })
  const { members, messagesData } = room as {
    members: { username: string; role: string }[]
    messagesData: { message_id: string; read_status: boolean }[]
  }
  const people = members.filter(({ role }) => role !== 'assistant')
  expect(people.map(({ username, role }) => `${username} ${role}`)).toEqual(['ada admin', 'bob editor', 'cyd viewer'])
  expect(messagesData.map(({ message_id, read_status }) => [message_id, read_status])).toEqual([
    ['1.000', true],
    ['1.001', false],
  ])
  const { data } = await sendSuccessfully(bob, 'GET', `${base}/rooms/${id}/messages?sort=number&include=attachments`)
  const shown = data as { attributes: { number: string; content: string } }[]
  expect(shown.map(({ attributes: { number, content } }) => [number, content])).toEqual([
    ['1.000', sealText('better')],
    ['1.001', sealText('reply')],
  ])

  const { url } = await sendSuccessfully(cyd, 'GET', `/req/room/attachment/getLink/${file}`)
  expect(await cyd.send('GET', String(url))).toMatchObject({ status: 200, text: 'Hello' })
  expect(await readError(bob, 'DELETE', '/req/room/attachment/delete', { fileId: file })).toEqual([
    403,
    'not_permitted',
  ])
  await sendSuccessfully(ada, 'DELETE', '/req/room/attachment/delete', { fileId: file })
  expect(await readError(cyd, 'GET', `/req/room/attachment/getLink/${file}`)).toEqual([404, '/content/attachments/0'])

  await sendSuccessfully(bob, 'DELETE', `/req/room/leaveRoom/${slug}`)
  expect(await readError(bob, 'GET', `/req/room/${slug}`)).toEqual([404, 'not_found'])
  expect((await bob.send('GET', `${base}/rooms/${id}`)).status).toBe(404)
  expect(await sendSuccessfully(ada, 'GET', `/req/room/message/get/${slug}/1.001`)).toMatchObject({
    member_name: 'The bob',
    author: { username: 'bob', isRemoved: true },
  })
  await sendSuccessfully(ada, 'DELETE', `/req/room/removeMember/${slug}`, { username: 'cyd' })
  await sendSuccessfully(ada, 'DELETE', `/req/room/leaveRoom/${slug}`)
  expect((await ada.send('GET', `${base}/rooms/${id}`)).status).toBe(404)
})

test("the older routes allow exactly what a person's role allows", async () => {
  const { svc, ada, bob, cyd, makeRoom, join, say } = older
  const slug = await makeRoom()
  await join(slug, bob, 'bob', 'editor')
  const message = { content: { text: encodeText('x') }, threadId: 0 }
  await say(slug, 'hello')
  const guest = openBrowser(svc.url)
  const routes: [string, string, object | undefined, editor: number][] = [
    ['GET', `/req/room/${slug}`, undefined, 200],
    ['GET', `/req/room/message/get/${slug}/1.000`, undefined, 200],
    ['POST', `/req/room/readstat/${slug}`, { message_id: '1.000' }, 200],
    ['POST', `/req/room/sendMessage/${slug}`, message, 200],
    ['POST', `/req/room/updateMessage/${slug}`, { ...message, message_id: '1.000' }, 403],
    ['POST', `/req/room/updateInfo/${slug}`, { name: 'Mine' }, 403],
    ['POST', `/req/room/addMember/${slug}`, { username: 'bob', role: 'admin' }, 403],
    ['DELETE', `/req/room/removeMember/${slug}`, { username: 'ada' }, 403],
    ['POST', `/req/inv/store-invitations/${slug}`, { invitations: [buildInvitation('cyd', 'viewer')] }, 403],
    ['DELETE', `/req/room/removeRoom/${slug}`, undefined, 403],
  ]
  for (const [method, path, body, editor] of routes) {
    const statuses = await Promise.all(
      [bob, cyd, guest].map(async (by) => (await by.send(method, path, { body })).status),
    )
    expect([path, ...statuses]).toEqual([path, editor, 404, 401])
  }
  expect(await bob.send('DELETE', `/req/room/removeRoom/${slug}`)).toMatchObject({
    status: 403,
    body: { response: 'Forbidden' },
  })

  await sendSuccessfully(ada, 'POST', `/req/room/addMember/${slug}`, { username: 'bob', role: 'viewer' })
  expect(await readError(bob, 'POST', `/req/room/sendMessage/${slug}`, message)).toEqual([403, 'not_permitted'])
  expect(await readError(ada, 'POST', `/req/room/addMember/${slug}`, { username: 'cyd', role: 'viewer' })).toEqual([
    404,
    '/username',
  ])
  const { members } = (await sendSuccessfully(ada, 'GET', `/req/room/${slug}`)) as {
    members: { username: string; role: string }[]
  }
  const model = members.find(({ role }) => role === 'assistant')
  expect(await readError(ada, 'DELETE', `/req/room/removeMember/${slug}`, { username: model?.username })).toEqual([
    403,
    'not_permitted',
  ])
  await sendSuccessfully(ada, 'DELETE', `/req/room/removeRoom/${slug}`)
  expect(await readError(bob, 'GET', `/req/room/${slug}`)).toEqual([404, 'not_found'])
})

test('a change of role returns the members without invited people', async () => {
  const { svc, ada, bob, makeRoom, join, invite } = older
  const slug = await makeRoom()
  await join(slug, bob, 'bob', 'editor')
  await invite(slug, buildInvitation('cyd', 'viewer'))

  const rows = await sendSuccessfully(ada, 'POST', `/req/room/addMember/${slug}`, { username: 'bob', role: 'viewer' })

  const members = await svc.rows(
    `select m.id, m.room_id, m.user_id, m.role from room_members m join rooms r on r.id = m.room_id
      where r.slug = $1 and m.state = 'member' order by m.id`,
    [slug],
  )
  expect(rows).toHaveLength(3)
  expect(rows).toEqual(expect.arrayContaining(members))
})

test("a room's picture is uploaded by a form and visible to new members", async () => {
  const { svc, ada, bob, cyd, makeRoom, join } = older
  const slug = await makeRoom()
  expect(await join(slug, bob, 'bob', 'viewer')).toMatchObject({ room: { room_icon: null } })
  const form = new FormData()
  form.append('image', new Blob([new Uint8Array(PNG)], { type: 'image/png' }), 'me.png')
  const { status, body } = await sendFile(svc, ada, `/req/room/uploadAvatar/${slug}`, form)
  expect([status, body]).toEqual([200, { success: true, url: expect.any(String), uuid: expect.stringMatching(UUID) }])
  expect((await ada.send('GET', String(body['url']))).headers.get('content-type')).toBe('image/webp')
  expect(await sendSuccessfully(ada, 'GET', `/req/room/${slug}`)).toMatchObject({ room_icon: body['url'] })
  expect(await join(slug, cyd, 'cyd', 'viewer')).toMatchObject({ room: { room_icon: body['uuid'] } })
})
