import { expect, test } from 'vitest'
import { openBrowser } from '../../kit/browser.ts'
import {
  buildInvitation,
  encodeText,
  readError,
  sendSuccessfully,
  startOlderRooms,
} from '../../kit/rooms/older-routes.ts'
import { shareResource } from '../../kit/share-resource.ts'

const older = shareResource(startOlderRooms)

test("invitations are stored all or none, with errors in the front ends' names", async () => {
  const { ada, cyd, makeRoom } = older
  const slug = await makeRoom()
  const path = `/req/inv/store-invitations/${slug}`
  const store = (...invitations: object[]) => readError(ada, 'POST', path, { invitations })
  expect(await store(buildInvitation('cyd', 'viewer'), buildInvitation('nobody', 'viewer'))).toEqual([
    404,
    '/invitations/1/username',
  ])
  expect(await store(buildInvitation('cyd', 'king'))).toEqual([422, '/invitations/0/role'])
  expect(await cyd.send('GET', `/req/inv/requestInvitation/${slug}`)).toMatchObject({
    status: 404,
    body: { error: expect.any(String) },
  })
  expect(await readError(ada, 'POST', '/req/room/createRoom', { room_name: 'x'.repeat(300) })).toEqual([
    422,
    '/room_name',
  ])
  const sending = `/req/room/sendMessage/${slug}`
  expect(await readError(ada, 'POST', sending, { content: {}, threadId: 0 })).toEqual([422, '/content'])
  expect(await readError(ada, 'POST', sending, { content: { text: encodeText('x') }, threadId: 9 })).toEqual([
    404,
    'not_found',
  ])
  expect(await readError(ada, 'GET', `/req/room/message/get/${slug}/first`)).toEqual([404, 'not_found'])
  expect(await readError(ada, 'GET', '/req/room/attachment/getLink/no-uuid')).toEqual([404, 'not_found'])

  const found = await sendSuccessfully(ada, 'POST', '/req/room/search', { query: 'The%20bo' })
  expect(found).toMatchObject({
    success: true,
    users: [{ name: 'The bob', username: 'bob', publicKey: expect.any(String) }],
  })
})

test('an invitation by mail is refused with an alternative', async () => {
  const { svc, ada, bob, cyd, makeRoom, join } = older
  const slug = await makeRoom()
  await join(slug, bob, 'bob', 'editor')
  const send = '/req/inv/sendExternInvitation'
  const mail = { username: 'cyd', hash: 'a'.repeat(32), slug }
  const body = { invitations: [buildInvitation('cyd', 'viewer'), buildInvitation('nobody', 'viewer', { email: mail })] }
  const store = `/req/inv/store-invitations/${slug}`

  for (const [locale, sentence] of [
    ['en-US', /no invitations by mail/],
    ['de-DE', /keine Einladungen per E-Mail/],
  ] as const) {
    const headers = { 'x-app-locale': locale, 'sec-fetch-site': 'same-origin' }
    const refused = await ada.send('POST', send, { headers, body: mail })
    expect([refused.status, refused.body]).toMatchObject([422, { success: false, error: sentence, message: sentence }])
    const { error, message } = refused.body
    expect(await ada.send('POST', store, { headers, body })).toMatchObject({
      status: 422,
      body: { error, message, errors: [{ source: { pointer: '/invitations/1/email' } }] },
    })
  }
  expect((await cyd.send('GET', `/req/inv/requestInvitation/${slug}`)).status).toBe(404)
  for (const [field, wrong] of Object.entries({ username: 'x'.repeat(256), hash: 'short', slug: '' }))
    expect(await readError(ada, 'POST', send, { ...mail, [field]: wrong })).toEqual([422, `/${field}`])
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
