import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { answers, buildQuestion, startProvider } from '../kit/ai/provider.ts'
import { send } from '../kit/app.ts'
import { openBrowser, type TestBrowser } from '../kit/browser.ts'
import { type Deployment, startDeployment, TYPED_PASSWORD } from '../kit/compose/deployment.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { trustAuthority } from '../kit/net/tls-server.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { queryRows } from '../kit/postgres-client.ts'
import { openSocket } from '../kit/realtime/socket.ts'
import { PNG } from '../kit/rooms/attachments.ts'
import { sendFile, uploadFile } from '../kit/rooms/older-routes.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const resources = new AsyncDisposableStack()
let site: Deployment
let ada: TestBrowser
let bob: TestBrowser

const text = (plain: string) => ({ ciphertext: Buffer.from(plain).toString('base64'), iv: 'aXY=', tag: 'dGFn' })

type Body = Record<string, unknown>

/** All requested routes, as method and path. */
const routes: string[] = []

const wasRequested = (route: string) => {
  const pattern = new RegExp(`^${route.replaceAll('*', '[^/]+')}$`)
  return routes.some((path) => pattern.test(path))
}

/** Sends a request like a front end, records its route, and expects a status. */
async function expectOf(by: TestBrowser, route: string, given: Body | undefined, answer: unknown, status = 200) {
  const [method = '', path = ''] = route.split(' ')
  const { status: was, body, text: raw } = await by.send(method, path, given && { body: given })
  routes.push(route)
  expect([route, was, body ?? raw]).toEqual([route, status, answer])
  return (body ?? {}) as Body
}

describeWith(
  'postgres',
  'redis',
  'caddy',
)('a front end of earlier versions, by settings alone', () => {
  beforeAll(async () => {
    const provider = resources.use(await startProvider(answers('Good day.')))
    const settings = {
      BRAND: 'acme',
      JSONAPI_MEMBER_CASE: 'snake',
      ALLOW_USER_TOKEN_CREATION: 'true',
      PEOPLE_SEARCHES_PER_MINUTE: '100',
    }
    site = resources.use(await startDeployment({ models: provider.url, settings }))
    resources.use(await trustAuthority(site.stack.caFile))
    await site.addPerson('bob')
    await queryRows(
      site.stack.env['DATABASE_URL'],
      `update users set public_key = '${makePublicKey('ada')}' where id > 1`,
    )
    ada = openBrowser(site.url)
    bob = openBrowser(site.url)
    for (const [browser, name] of [
      [ada, 'ada'],
      [bob, 'bob'],
    ] as const)
      expect((await browser.login(name, TYPED_PASSWORD)).body).toMatchObject({ success: true })
  })
  afterAll(() => resources.disposeAsync())

  test('boots in its order: connection, settings, texts, models, keys, socket, conversations, rooms', async () => {
    const value = 'aXY=|dGFn|dGV4dA=='
    const get = async (path: string) => {
      const { status, body } = await ada.send('GET', `/api/acme/v1${path}`)
      expect([path, status]).toEqual([path, 200])
      return body as { data: { id: string; attributes: Body } & { attributes: Body }[] }
    }
    const [connection, configs] = await Promise.all([get('/connections/acme'), get('/configs/public')])
    const { locale, userinfo, type } = connection.data.attributes as Body
    expect([connection.data.id, type]).toEqual(['acme', 'internal_authenticated'])
    expect(userinfo).toMatchObject({ username: 'ada' })
    const list = configs.data.attributes['list'] as Record<string, Record<string, Body>>
    const blocks = list['acme-core'] ?? {}
    expect(blocks).toMatchObject({
      ai: { handle: '@acme' },
      salts: expect.anything(),
      storage_files: expect.anything(),
    })
    const [labels, models, defaults, tools] = await Promise.all([
      get(`/translation-labels/${locale}`),
      get('/ai-models?include=provider'),
      get('/system-models'),
      get('/ai-tools?include=server&filter%5Bassigned%5D=1'),
      get('/ai-tool-capabilities'),
      get('/system-prompts'),
    ])
    expect(labels.data.attributes['labels']).toEqual(expect.any(Object))
    expect(models.data[0]?.attributes).toMatchObject({ model_id: 'llama', tool_ids: [] })
    expect(defaults.data[0]?.attributes).toMatchObject({ model_type: 'default', model_id: 'llama' })
    expect(tools.data).toEqual([])
    const set = [{ key: 'publicKey', type: 'public_key', value }]
    const saved = await ada.send('POST', '/api/acme/v1/user-keychain-values/actions/batch-update', { body: { set } })
    expect([saved.status, (saved.body['meta'] as Body)['_acme_sync_log']]).toEqual([200, []])
    expect((await get('/user-keychain-values')).data[0]?.attributes).toMatchObject({ type: 'public_key', value })
    expect(await get('/user-keychain-values/actions/validator')).toEqual({ validator: value })
    await get('/migrations')

    const { websocket } = blocks['transfer'] as { websocket: { key: string } }
    const { roomData } = await expectOf(ada, 'POST /req/room/createRoom', { room_name: 'Boot' }, expect.anything(), 201)
    const { slug } = roomData as { slug: string }
    const channel = `private-Rooms.${slug}`
    using socket = await openSocket(site.url, { path: `/app/${websocket.key}` })
    const allowed = await ada.send('POST', '/broadcasting/auth', {
      body: { socket_id: socket.id, channel_name: channel },
    })
    await socket.settle({ event: 'pusher:subscribe', data: { ...allowed.body, channel } })
    await expectOf(ada, 'GET /req/conv', undefined, { success: true, data: [], next: null })
    await expectOf(ada, `GET /req/room/${slug}`, undefined, expect.objectContaining({ name: 'Boot', messagesData: [] }))
    await expectOf(ada, 'GET /req/room', undefined, { success: true, data: [expect.objectContaining({ slug })] })
    const message = { content: { text: text('Hello') }, threadId: 0 }
    await expectOf(ada, `POST /req/room/sendMessage/${slug}`, message, expect.objectContaining({ success: true }))
    const notices = () => socket.frames.filter(({ event }) => event === 'App\\Events\\RoomMessageEvent')
    await expect
      .poll(notices)
      .toMatchObject([{ channel, data: { data: { type: 'message', data: { slug, message_id: '1.000' } } } }])
  })

  test('works through a day of requests, each of which is answered as it was', async () => {
    const any = expect.any(String)
    const done = { success: true }
    const like = (part: object) => expect.objectContaining(part)
    const isWell = like(done)

    // A private conversation.
    const named = { conv_name: null, system_prompt: null }
    const made = await expectOf(
      ada,
      'POST /req/conv/createChat',
      named,
      like({ conv: like({ conv_name: 'New Chat' }) }),
      201,
    )
    const { slug: conv } = made['conv'] as { slug: string }
    await expectOf(ada, `POST /req/conv/updateInfo/${conv}`, { conv_name: 'Chess' }, { ...done, response: any })
    const file = await uploadFile(site, ada, '/req/conv/attachment/upload')
    routes.push('POST /req/conv/attachment/upload')
    const saying = { isAi: false, threadId: 0, completion: true }
    const content = { text: text('Hi'), attachments: [file] }
    const message = like({ message_id: '1.000', message_role: 'user', content: like({ text: text('Hi') }) })
    await expectOf(ada, `POST /req/conv/sendMessage/${conv}`, { ...saying, content }, { ...done, messageData: message })
    await expectOf(ada, `GET /req/conv/attachment/getLink/${file}`, undefined, { ...done, url: any })
    const edit = { ...saying, content: { text: text('Ho'), attachments: [file] }, message_id: '1.000' }
    await expectOf(
      ada,
      `POST /req/conv/updateMessage/${conv}`,
      edit,
      like({ ...done, legacyResource: like({ content: like({ text: text('Ho') }) }) }),
    )
    await expectOf(ada, 'DELETE /req/conv/attachment/delete', { fileId: file }, done)
    const opened = like({ name: 'Chess', slug: conv, messages: [like({ message_id: '1.000' })] })
    await expectOf(ada, `GET /req/conv/${conv}`, undefined, { ...done, data: opened })
    const payload = { model: 'llama', stream: false, messages: [{ role: 'user', content: { text: 'Hello' } }] }
    await expectOf(
      ada,
      'POST /req/streamAI',
      { payload, broadcast: false },
      { ...done, content: '{"text":"Good day."}' },
    )
    await expectOf(ada, `DELETE /req/conv/message/delete/${conv}`, { message_id: '1.000' }, done)
    await expectOf(ada, `DELETE /req/conv/removeConv/${conv}`, undefined, { ...done, message: any })
    await expectOf(
      bob,
      `GET /req/conv/${conv}`,
      undefined,
      like({ success: false, errors: [like({ status: '404' })] }),
      404,
    )

    // A room with somebody else.
    const room = await expectOf(
      ada,
      'POST /req/room/createRoom',
      { room_name: 'Chess' },
      like({ ...done, roomData: like({ room_name: 'Chess' }) }),
      201,
    )
    const { slug } = room['roomData'] as { slug: string }
    await expectOf(ada, `POST /req/room/updateInfo/${slug}`, { description: '{}' }, { ...done, response: any })
    await expectOf(
      ada,
      'POST /req/room/search',
      { query: 'The%20bob' },
      { ...done, users: [like({ username: 'bob', publicKey: any })] },
    )
    const invitation = { username: 'bob', role: 'editor', iv: '0', tag: '0', encryptedRoomKey: 'd3JhcHBlZCBrZXk=' }
    await expectOf(ada, `POST /req/inv/store-invitations/${slug}`, { invitations: [invitation] }, '')
    const byMail = { username: 'bob', hash: 'a'.repeat(32), slug }
    await expectOf(ada, 'POST /req/inv/sendExternInvitation', byMail, like({ success: false, error: any }), 422)
    const shown = like({ room_slug: slug, role: 'editor', iv: '0', tag: '0', invitation: 'd3JhcHBlZCBrZXk=' })
    await expectOf(bob, 'GET /req/inv/requestUserInvitations', undefined, { formattedInvitations: [shown] })
    const { invitation_id } = await expectOf(bob, `GET /req/inv/requestInvitation/${slug}`, undefined, shown)
    await expectOf(
      bob,
      'POST /req/inv/roomInvitationAccept',
      { invitation_id },
      { ...done, room: like({ slug, room_name: 'Chess' }) },
    )
    const given = await uploadFile(site, ada, `/req/room/attachment/upload/${slug}`)
    routes.push('POST /req/room/attachment/upload/x')
    const words = { text: text('Look'), attachments: [given] }
    await expectOf(
      ada,
      `POST /req/room/sendMessage/${slug}`,
      { content: words, threadId: 0 },
      like({ ...done, response: any, messageData: like({ message_id: '1.000', member_name: 'Ada' }) }),
    )
    const [{ id = 0 } = {}] = await queryRows<{ id: number }>(
      site.stack.env['DATABASE_URL'],
      'select max(id)::int as id from room_messages',
    )
    const v2 = { version: 'v2', content: { text: text('Yes') } }
    await expectOf(
      bob,
      `POST /req/room/sendMessage/${slug}`,
      { ...v2, thread_id: id },
      like({ messageData: like({ message_id: '1.001' }) }),
    )
    await expectOf(bob, `POST /req/room/readstat/${slug}`, { message_id: '1.000' }, done)
    await expectOf(
      bob,
      `GET /req/room/message/get/${slug}/1.000`,
      undefined,
      like({ message_id: '1.000', read_status: true }),
    )
    await expectOf(
      ada,
      `POST /req/room/updateMessage/${slug}`,
      { content: words, message_id: '1.000' },
      like({ ...done, response: any }),
    )
    await expectOf(bob, `GET /req/room/attachment/getLink/${given}`, undefined, { ...done, url: any })
    await expectOf(ada, 'DELETE /req/room/attachment/delete', { fileId: given }, done)
    const key = randomBytes(32).toString('base64')
    const body = { payload, broadcast: true, slug, key, threadIndex: 0 }
    await expectOf(bob, `POST /req/room/streamAI/${slug}`, body, done)
    const answered = () => bob.send('GET', `/req/room/message/get/${slug}/2.000`)
    await expect
      .poll(async () => (await answered()).body, { timeout: 60_000 })
      .toMatchObject({ message_role: 'assistant', model: 'llama' })
    const form = new FormData()
    form.append('image', new Blob([PNG as Uint8Array<ArrayBuffer>]), 'dot.png')
    expect(await sendFile(site, ada, `/req/room/uploadAvatar/${slug}`, form)).toEqual({
      status: 200,
      body: { ...done, url: any, uuid: any },
    })
    routes.push('POST /req/room/uploadAvatar/x')
    await expectOf(bob, `DELETE /req/room/removeRoom/${slug}`, undefined, like({ response: 'Forbidden' }), 403)
    const viewer = { username: 'bob', role: 'viewer' }
    await expectOf(ada, `POST /req/room/addMember/${slug}`, viewer, expect.arrayContaining([like({ role: 'viewer' })]))
    const members = expect.arrayContaining([like({ username: 'bob', role: 'viewer' }), like({ role: 'assistant' })])
    await expectOf(ada, `GET /req/room/${slug}`, undefined, like({ slug, role: 'admin', members }))
    await expectOf(ada, `DELETE /req/room/removeMember/${slug}`, { username: 'bob' }, { ...done, message: any })
    await expectOf(bob, `GET /req/room/${slug}`, undefined, isRefused('404'), 404)
    await expectOf(ada, `DELETE /req/room/removeRoom/${slug}`, undefined, { ...done, message: any })
    const left = await expectOf(bob, 'POST /req/room/createRoom', { room_name: 'Left' }, isWell, 201)
    await expectOf(bob, `DELETE /req/room/leaveRoom/${(left['roomData'] as { slug: string }).slug}`, undefined, done)

    // Announcements, the profile, tokens, links.
    const database = site.stack.env['DATABASE_URL']
    await queryRows(
      database,
      `insert into announcements (title, view, type, is_forced, is_global) values ('Rules', 'rules', 'policy', false, true)`,
    )
    await expectOf(ada, 'GET /req/announcement/render/1', undefined, expect.anything(), 404)
    await expectOf(ada, 'POST /req/announcement/seen/1', undefined, { ...done, message: any })
    await expectOf(ada, 'POST /req/announcement/report/1', undefined, like({ success: false, message: any }), 400)
    await expectOf(
      ada,
      'GET /req/announcement/fetchLatestPolicy',
      undefined,
      like({ success: false, message: any }),
      404,
    )
    await expectOf(ada, 'POST /req/profile/update', { displayName: 'Ada L.' }, { ...done, response: any })
    const portrait = await sendFile(site, ada, '/req/profile/uploadAvatar', form)
    expect(portrait).toEqual({ status: 200, body: { ...done, url: any } })
    routes.push('POST /req/profile/uploadAvatar')
    await expectOf(ada, 'POST /req/profile/validatePasskey', { passkey: 'secret' }, { ...done, message: any })
    await expectOf(ada, 'GET /req/profile/requestPasskeyBackup', undefined, isRefused('404'), 404)
    const { token, id: tokenId } = await expectOf(
      ada,
      'POST /req/profile/create-token',
      { name: 'laptop' },
      like({ ...done, name: 'laptop', token: any }),
    )
    await expectOf(ada, 'GET /req/profile/fetch-tokens', undefined, {
      ...done,
      tokens: expect.arrayContaining([like({ name: 'laptop' })]),
    })
    const program = await send(site.url, 'POST', '/api/ai-req', {
      token: `${token}`,
      body: buildQuestion('Hello', 'llama'),
    })
    expect([program.status, await program.json()]).toEqual([200, { ...done, content: { text: 'Good day.' } }])
    const me = await send(site.url, 'GET', '/api/user', { token: `${token}` })
    expect([me.status, me.headers.get('link')]).toEqual([200, '</api/acme/v1/users/me>; rel="successor-version"'])
    expect(await me.json()).toMatchObject({ username: 'ada', name: 'Ada L.' })
    await expectOf(ada, 'POST /req/profile/revoke-token', { tokenId }, { ...done, message: any })
    const link = { domain: '127.0.0.1', isFallback: true }
    await expectOf(ada, 'POST /api/link-preview', { url: 'http://127.0.0.1/' }, like(link))
    await expectOf(ada, 'POST /req/changeLanguage', { inputLang: 'de_DE' }, isWell)
    await expectOf(ada, 'GET /check-session', undefined, { expired: false, remaining: expect.any(Number) })

    expect(olderRoutes.filter((route) => !wasRequested(route))).toEqual([])
  })
})

const isRefused = (status: string) => expect.objectContaining({ errors: [expect.objectContaining({ status })] })

/** The requests of earlier front ends beside JSON:API. */
const olderRoutes = [
  'GET /req/conv',
  'GET /req/conv/*',
  'POST /req/conv/createChat',
  'POST /req/conv/updateInfo/*',
  'DELETE /req/conv/removeConv/*',
  'POST /req/conv/sendMessage/*',
  'POST /req/conv/updateMessage/*',
  'DELETE /req/conv/message/delete/*',
  'POST /req/conv/attachment/upload',
  'GET /req/conv/attachment/getLink/*',
  'DELETE /req/conv/attachment/delete',
  'POST /req/streamAI',
  'POST /api/link-preview',
  'GET /req/announcement/render/*',
  'POST /req/announcement/seen/*',
  'POST /req/announcement/report/*',
  'GET /req/announcement/fetchLatestPolicy',
  'GET /req/room',
  'POST /req/profile/validatePasskey',
  'GET /req/room/*',
  'POST /req/room/createRoom',
  'DELETE /req/room/leaveRoom/*',
  'POST /req/room/readstat/*',
  'GET /req/room/message/get/*/*',
  'GET /req/room/attachment/getLink/*',
  'POST /req/room/sendMessage/*',
  'POST /req/room/updateMessage/*',
  'POST /req/room/streamAI/*',
  'POST /req/room/attachment/upload/*',
  'POST /req/room/updateInfo/*',
  'POST /req/room/uploadAvatar/*',
  'DELETE /req/room/removeRoom/*',
  'POST /req/room/addMember/*',
  'DELETE /req/room/removeMember/*',
  'DELETE /req/room/attachment/delete',
  'POST /req/room/search',
  'POST /req/inv/store-invitations/*',
  'POST /req/inv/roomInvitationAccept',
  'POST /req/inv/sendExternInvitation',
  'GET /req/inv/requestInvitation/*',
  'GET /req/inv/requestUserInvitations',
  'POST /req/profile/update',
  'POST /req/profile/uploadAvatar',
  'GET /req/profile/requestPasskeyBackup',
  'POST /req/profile/create-token',
  'GET /req/profile/fetch-tokens',
  'POST /req/profile/revoke-token',
  'GET /check-session',
]
