import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { messagesOf } from '../../../facades/legacy/req/find.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../../kit/browser.ts'
import { PNG } from '../../kit/rooms/attachments.ts'
import { sendFile, uploadTo } from '../../kit/rooms/older.ts'

const text = (said: string) => ({ ciphertext: Buffer.from(said).toString('base64'), iv: 'aXY=', tag: 'dGFn' })
const sealed = (said: string) => `aXY=|dGFn|${text(said).ciphertext}`
const KEY = 'd3JhcHBlZCBrZXk='
const base = '/api/svc/v1'

let svc: TestApp
let ada: TestBrowser
let bob: TestBrowser
let cyd: TestBrowser
beforeAll(async () => {
  svc = await startApp({ PEOPLE_SEARCHES_PER_MINUTE: '1000' })
  ada = (await signIn(svc, 'ada')).browser
  bob = (await signIn(svc, 'bob')).browser
  cyd = (await signIn(svc, 'cyd')).browser
})
afterAll(() => svc[Symbol.asyncDispose]())

/** Sends a request that must succeed; returns its body. */
async function done(by: TestBrowser, method: string, path: string, body?: unknown) {
  const answer = await by.send(method, path, { body })
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.text}`)
  return answer.body
}

const errorOf = async (by: TestBrowser, method: string, path: string, body?: unknown) => {
  const { status, body: answer } = await by.send(method, path, { body })
  const [error] = answer['errors'] as { code: string; source?: { pointer: string } }[]
  return [status, error?.source?.pointer ?? error?.code]
}

async function makeRoom(by = ada): Promise<string> {
  const { roomData } = await done(by, 'POST', '/req/room/createRoom', { room_name: 'Chess & Go' })
  return (roomData as { slug: string }).slug
}

const invitationOf = (username: string, role: string, more: object = {}) => ({
  username,
  role,
  iv: '0',
  tag: '0',
  encryptedRoomKey: KEY,
  ...more,
})

async function invite(slug: string, ...invitations: object[]) {
  await done(ada, 'POST', `/req/inv/store-invitations/${slug}`, { invitations })
}

async function join(slug: string, by: TestBrowser, username: string, role: string) {
  await invite(slug, invitationOf(username, role))
  const { invitation_id } = await done(by, 'GET', `/req/inv/requestInvitation/${slug}`)
  return done(by, 'POST', '/req/inv/roomInvitationAccept', { invitation_id })
}

const say = async (slug: string, said: string, more: object = {}, by = ada) =>
  (await done(by, 'POST', `/req/room/sendMessage/${slug}`, { content: { text: text(said) }, threadId: 0, ...more }))[
    'messageData'
  ] as { message_id: string; member_id: number; read_status: boolean }

test('a room lives from its creation to the last who leaves by the older routes alone, and JSON:API shows the same', async () => {
  const made = await done(ada, 'POST', '/req/room/createRoom', { room_name: 'Chess & Go' })
  const { slug, id } = made['roomData'] as { slug: string; id: number }
  expect(made).toMatchObject({
    success: true,
    roomData: { room_name: 'Chess & Go', slug: expect.stringMatching(/^chess-go-/) },
  })
  await done(ada, 'POST', `/req/room/updateInfo/${slug}`, {
    description: '{"iv":"aXY="}',
    system_prompt: '{"iv":"dGFn"}',
  })

  await invite(slug, invitationOf('bob', 'editor'), invitationOf('cyd', 'viewer', { iv: 'aXY=', tag: 'dGFn' }))
  const { formattedInvitations } = await done(bob, 'GET', '/req/inv/requestUserInvitations')
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
  expect(await errorOf(cyd, 'POST', '/req/inv/roomInvitationAccept', { invitation_id })).toEqual([404, 'not_found'])
  expect(await done(bob, 'POST', '/req/inv/roomInvitationAccept', { invitation_id })).toMatchObject({
    success: true,
    room: { id, slug, room_name: 'Chess & Go', room_description: '{"iv":"aXY="}' },
  })
  const sealedFor = await done(cyd, 'GET', `/req/inv/requestInvitation/${slug}`)
  expect(sealedFor).toMatchObject({ iv: 'aXY=', tag: 'dGFn', invitation: KEY, role: 'viewer' })
  await done(cyd, 'POST', '/req/inv/roomInvitationAccept', { invitation_id: sealedFor['invitation_id'] })

  const file = await uploadTo(svc, ada, `/req/room/attachment/upload/${slug}`)
  expect(
    await say(slug, 'hello', { content: { text: text('hello'), attachments: [file] }, metadata: { tools: [] } }),
  ).toMatchObject({
    message_id: '1.000',
    message_role: 'user',
    member_name: 'The ada',
    read_status: true,
    author: { username: 'ada', name: 'The ada', isRemoved: false },
    content: { text: text('hello'), attachments: [{ fileData: { uuid: file, name: 'notes.txt', category: 'group' } }] },
    metadata: { tools: null, params: null },
  })
  expect(await say(slug, 'reply', { threadId: 1 }, bob)).toMatchObject({ message_id: '1.001', read_status: true })

  const one = `/req/room/message/get/${slug}/1.000`
  expect(await done(cyd, 'GET', one)).toMatchObject({ read_status: false, content: { text: text('hello') } })
  await done(cyd, 'POST', `/req/room/readstat/${slug}`, { message_id: '1.000' })
  expect(await done(cyd, 'GET', one)).toMatchObject({ read_status: true })
  const edit = `/req/room/updateMessage/${slug}`
  const better = (attachments: string[]) => ({ content: { text: text('better'), attachments }, message_id: '1.000' })
  const another = await uploadTo(svc, ada, `/req/room/attachment/upload/${slug}`)
  expect(await errorOf(ada, 'POST', edit, better([file, another]))).toEqual([422, '/content/attachments/1'])
  expect(await done(ada, 'POST', edit, better([file]))).toMatchObject({
    messageData: { content: { attachments: [{ fileData: { uuid: file } }] } },
  })

  const room = await done(cyd, 'GET', `/req/room/${slug}`)
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
  const { data } = await done(bob, 'GET', `${base}/rooms/${id}/messages?sort=number&include=attachments`)
  const shown = data as { attributes: { number: string; content: string } }[]
  expect(shown.map(({ attributes: { number, content } }) => [number, content])).toEqual([
    ['1.000', sealed('better')],
    ['1.001', sealed('reply')],
  ])

  const { url } = await done(cyd, 'GET', `/req/room/attachment/getLink/${file}`)
  expect(await cyd.send('GET', String(url))).toMatchObject({ status: 200, text: 'Hello' })
  expect(await errorOf(bob, 'DELETE', '/req/room/attachment/delete', { fileId: file })).toEqual([403, 'not_permitted'])
  await done(ada, 'DELETE', '/req/room/attachment/delete', { fileId: file })
  expect(await errorOf(cyd, 'GET', `/req/room/attachment/getLink/${file}`)).toEqual([404, '/content/attachments/0'])

  await done(bob, 'DELETE', `/req/room/leaveRoom/${slug}`)
  expect(await errorOf(bob, 'GET', `/req/room/${slug}`)).toEqual([404, 'not_found'])
  expect((await bob.send('GET', `${base}/rooms/${id}`)).status).toBe(404)
  expect(await done(ada, 'GET', `/req/room/message/get/${slug}/1.001`)).toMatchObject({
    member_name: 'The bob',
    author: { username: 'bob', isRemoved: true },
  })
  await done(ada, 'DELETE', `/req/room/removeMember/${slug}`, { username: 'cyd' })
  await done(ada, 'DELETE', `/req/room/leaveRoom/${slug}`)
  expect((await ada.send('GET', `${base}/rooms/${id}`)).status).toBe(404)
})

test('each does by the older routes what their role allows, others find no room, and a guest is sent away', async () => {
  const slug = await makeRoom()
  await join(slug, bob, 'bob', 'editor')
  const message = { content: { text: text('x') }, threadId: 0 }
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
    ['POST', `/req/inv/store-invitations/${slug}`, { invitations: [invitationOf('cyd', 'viewer')] }, 403],
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

  await done(ada, 'POST', `/req/room/addMember/${slug}`, { username: 'bob', role: 'viewer' })
  expect(await errorOf(bob, 'POST', `/req/room/sendMessage/${slug}`, message)).toEqual([403, 'not_permitted'])
  expect(await errorOf(ada, 'POST', `/req/room/addMember/${slug}`, { username: 'cyd', role: 'viewer' })).toEqual([
    404,
    '/username',
  ])
  const { members } = (await done(ada, 'GET', `/req/room/${slug}`)) as { members: { username: string; role: string }[] }
  const model = members.find(({ role }) => role === 'assistant')
  expect(await errorOf(ada, 'DELETE', `/req/room/removeMember/${slug}`, { username: model?.username })).toEqual([
    403,
    'not_permitted',
  ])
  await done(ada, 'DELETE', `/req/room/removeRoom/${slug}`)
  expect(await errorOf(bob, 'GET', `/req/room/${slug}`)).toEqual([404, 'not_found'])
})

test('invitations are stored all or not at all, and what is wrong is told by the names that front ends use', async () => {
  const slug = await makeRoom()
  const path = `/req/inv/store-invitations/${slug}`
  const store = (...invitations: object[]) => errorOf(ada, 'POST', path, { invitations })
  expect(await store(invitationOf('cyd', 'viewer'), invitationOf('nobody', 'viewer'))).toEqual([
    404,
    '/invitations/1/username',
  ])
  expect(await store(invitationOf('cyd', 'king'))).toEqual([422, '/invitations/0/role'])
  expect(await cyd.send('GET', `/req/inv/requestInvitation/${slug}`)).toMatchObject({
    status: 404,
    body: { error: expect.any(String) },
  })
  expect(await errorOf(ada, 'POST', '/req/room/createRoom', { room_name: 'x'.repeat(300) })).toEqual([
    422,
    '/room_name',
  ])
  const sending = `/req/room/sendMessage/${slug}`
  expect(await errorOf(ada, 'POST', sending, { content: {}, threadId: 0 })).toEqual([422, '/content'])
  expect(await errorOf(ada, 'POST', sending, { content: { text: text('x') }, threadId: 9 })).toEqual([404, 'not_found'])
  expect(await errorOf(ada, 'GET', `/req/room/message/get/${slug}/first`)).toEqual([404, 'not_found'])
  expect(await errorOf(ada, 'GET', '/req/room/attachment/getLink/no-uuid')).toEqual([404, 'not_found'])

  const found = await done(ada, 'POST', '/req/room/search', { query: 'The%20bo' })
  expect(found).toMatchObject({
    success: true,
    users: [{ name: 'The bob', username: 'bob', publicKey: expect.any(String) }],
  })
})

test('whoever asks for an invitation by mail is told what to do instead, and nobody is invited', async () => {
  const slug = await makeRoom()
  await join(slug, bob, 'bob', 'editor')
  const send = '/req/inv/sendExternInvitation'
  const mail = { username: 'cyd', hash: 'a'.repeat(32), slug }
  const body = { invitations: [invitationOf('cyd', 'viewer'), invitationOf('nobody', 'viewer', { email: mail })] }
  const store = `/req/inv/store-invitations/${slug}`

  for (const [locale, said] of [
    ['en-US', /no invitations by mail/],
    ['de-DE', /keine Einladungen per E-Mail/],
  ] as const) {
    const headers = { 'x-app-locale': locale, 'sec-fetch-site': 'same-origin' }
    const refused = await ada.send('POST', send, { headers, body: mail })
    expect([refused.status, refused.body]).toMatchObject([422, { success: false, error: said, message: said }])
    const { error, message } = refused.body
    expect(await ada.send('POST', store, { headers, body })).toMatchObject({
      status: 422,
      body: { error, message, errors: [{ source: { pointer: '/invitations/1/email' } }] },
    })
  }
  expect((await cyd.send('GET', `/req/inv/requestInvitation/${slug}`)).status).toBe(404)
  for (const [field, wrong] of Object.entries({ username: 'x'.repeat(256), hash: 'short', slug: '' }))
    expect(await errorOf(ada, 'POST', send, { ...mail, [field]: wrong })).toEqual([422, `/${field}`])
  for (const [by, status] of [
    [bob, 403],
    [cyd, 404],
    [openBrowser(svc.url), 401],
  ] as const) {
    const statuses = [send, store].map(
      async (path) => (await by.send('POST', path, { body: { ...mail, ...body } })).status,
    )
    expect(await Promise.all(statuses)).toEqual([status, status])
  }
})

test('a message is told once, also where somebody writes while its room is read', async () => {
  const related = async ({ page: { number } }: { page: { number: number } }) => ({
    items: (number === 1 ? ['3', '2'] : ['2', '1']).map((id) => ({ id })),
    total: 201,
  })
  const found = await messagesOf({ api: { rooms: { related } }, room: { id: '1' }, viewer: '1' } as never)
  expect(found.map(({ id }) => id)).toEqual(['1', '2', '3'])
})

test('the picture of a room is set by a form', async () => {
  const slug = await makeRoom()
  const form = new FormData()
  form.append('image', new Blob([new Uint8Array(PNG)], { type: 'image/png' }), 'me.png')
  const { status, body } = await sendFile(svc, ada, `/req/room/uploadAvatar/${slug}`, form)
  expect([status, body]).toEqual([200, { success: true, url: expect.any(String), uuid: expect.any(String) }])
  expect((await ada.send('GET', String(body['url']))).headers.get('content-type')).toBe('image/webp')
  expect(await done(ada, 'GET', `/req/room/${slug}`)).toMatchObject({ room_icon: body['url'] })
})

test('people change their own profile and read the backup of their passkey, as existing front ends ask', async () => {
  expect(await done(ada, 'POST', '/req/profile/update', { displayName: 'Ada L.', bio: 'Plays chess.' })).toEqual({
    success: true,
    response: expect.any(String),
  })
  expect(await done(ada, 'POST', '/req/profile/update', { displayName: '' })).toMatchObject({ success: true })
  const { data } = (await ada.send('GET', '/api/svc/v1/users/me')).body as { data: { attributes: object } }
  expect(data.attributes).toMatchObject({ displayName: 'Ada L.', bio: 'Plays chess.' })
  const form = new FormData()
  form.append('image', new Blob([PNG as Uint8Array<ArrayBuffer>]), 'dot.png')
  const { status, body } = await sendFile(svc, ada, '/req/profile/uploadAvatar', form)
  expect([status, body]).toEqual([200, { success: true, url: expect.any(String) }])
  expect((await ada.send('GET', String(body['url']))).headers.get('content-type')).toBe('image/webp')
  expect(await errorOf(ada, 'GET', '/req/profile/requestPasskeyBackup')).toEqual([404, 'not_found'])
  const backup = { ciphertext: 'aQ==', iv: 'aXY=', tag: 'dGFn' }
  await svc.rows(
    'insert into passkey_backups (user_id, ciphertext, iv, tag) select id, $1, $2, $3 from users where username = $4',
    [...Object.values(backup), 'ada'],
  )
  expect(await done(ada, 'GET', '/req/profile/requestPasskeyBackup')).toEqual({ success: true, passkeyBackup: backup })

  expect(await errorOf(ada, 'POST', '/req/profile/update', { displayName: 'a'.repeat(500) })).toEqual([
    422,
    '/displayName',
  ])
  for (const [method, path] of [
    ['POST', 'update'],
    ['POST', 'uploadAvatar'],
    ['GET', 'requestPasskeyBackup'],
  ] as const)
    expect(await errorOf(openBrowser(svc.url), method, `/req/profile/${path}`)).toEqual([401, 'signed_out'])
})

test('a request of version v2 names messages by id, within its room alone', async () => {
  const [slug, other, foreign] = [await makeRoom(), await makeRoom(), await makeRoom(bob)]
  const first = await say(slug, 'first')
  const [elsewhere, unseen] = [await say(other, 'elsewhere'), await say(foreign, 'unseen', {}, bob)]
  const idsOf = async (room: string, { message_id }: { message_id: string }) => {
    const [found] = await svc.rows<{ id: number }>(
      `select m.id from room_messages m join rooms r on r.id = m.room_id
        where r.slug = $1 and m.seq = $2 and m.sub_seq = 0`,
      [room, Number(message_id.split('.')[0])],
    )
    return found!.id
  }
  const [id, elsewhereId, unseenId] = [
    await idsOf(slug, first),
    await idsOf(other, elsewhere),
    await idsOf(foreign, unseen),
  ]
  const body = { version: 'v2', content: { text: text('second') } }
  const path = (route: string) => `/req/room/${route}/${slug}`

  const reply = await done(ada, 'POST', path('sendMessage'), { ...body, thread_id: id })
  expect(reply['messageData']).toMatchObject({ message_id: '1.001' })
  const next = await done(ada, 'POST', path('sendMessage'), { ...body, thread_id: 0 })
  expect(next['messageData']).toMatchObject({ message_id: '2.000' })
  const changed = await done(ada, 'POST', path('updateMessage'), { ...body, id })
  expect(changed['messageData']).toMatchObject({ message_id: '1.000', content: { text: text('second') } })
  await done(ada, 'POST', path('readstat'), { version: 'v2', id })
  const none = { message_id: null, threadId: '' }
  const still = await done(ada, 'POST', path('updateMessage'), { ...body, ...none, id, thread_id: null })
  expect(still['messageData']).toMatchObject({ message_id: '1.000' })
  for (const version of [null, '']) {
    await done(ada, 'POST', path('updateMessage'), { ...body, version, message_id: '1.000' })
    await done(ada, 'POST', path('readstat'), { version, message_id: '1.000' })
  }

  for (const [given, pointer, message] of [
    [{ version: 'v3', id }, '/version', 'Unsupported API version: v3'],
    [{ version: 'v2', id, message_id: '1.000' }, '/message_id', 'The message_id field is prohibited.'],
    [{ version: 'v2', thread_id: id, threadId: 1 }, '/threadId', 'The threadId field is prohibited.'],
    [{ version: 'v2', id: 2_000_000_000 }, '/id', 'Message with ID 2000000000 not found'],
    [{ version: 'v2', thread_id: 9_000_000_000 }, '/thread_id', 'Parent message with ID 9000000000 not found'],
    [{ version: 'v2', id: elsewhereId }, '/id', `Message with ID ${elsewhereId} not found`],
    [{ version: 'v2', thread_id: unseenId }, '/thread_id', `Parent message with ID ${unseenId} not found`],
  ] as const) {
    const { status, body: answer } = await ada.send('POST', path('updateMessage'), { body: { ...body, ...given } })
    expect([status, answer], message).toMatchObject([422, { message, errors: [{ source: { pointer } }] }])
  }
  const main = await done(ada, 'POST', path('sendMessage'), body)
  expect(main['messageData']).toMatchObject({ message_id: '3.000' })
  const asked = { payload: { model: 'demo', stream: false, messages: [{ role: 'user', content: { text: 'Hello' } }] } }
  for (const [given, field] of [
    [{ version: 'v3' }, 'version'],
    [{ version: 'v2', messageId: '1.000' }, 'messageId'],
    [{ version: 'v2', id }, 'id'],
    [{ version: 'v2', thread_id: id }, 'thread_id'],
  ] as const) {
    const { status, body: answer } = await ada.send('POST', '/req/streamAI', {
      body: { ...asked, broadcast: false, ...given },
    })
    expect([status, answer]).toMatchObject([422, { errors: { [field]: [expect.any(String)] } }])
  }
  const inRoom = { ...asked, broadcast: true, key: randomBytes(32).toString('base64'), version: 'v2' }
  expect(await errorOf(ada, 'POST', path('streamAI'), { ...inRoom, id: elsewhereId })).toEqual([422, '/id'])
  await done(ada, 'POST', path('streamAI'), { ...inRoom, thread_id: id })
  const answer = () => ada.send('GET', `/req/room/message/get/${slug}/1.002`)
  await vi.waitUntil(async () => (await answer()).status === 200, { timeout: 30_000 })
  expect((await answer()).body).toMatchObject({ message_role: 'assistant', model: 'demo' })
  expect(await errorOf(cyd, 'POST', path('updateMessage'), { ...body, id })).toEqual([404, 'not_found'])
  expect(await errorOf(openBrowser(svc.url), 'POST', path('updateMessage'), { ...body, id })).toEqual([
    401,
    'signed_out',
  ])
})
