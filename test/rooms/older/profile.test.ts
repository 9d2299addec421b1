import { expect, test } from 'vitest'
import { openBrowser } from '../../kit/browser.ts'
import { PNG } from '../../kit/rooms/attachments.ts'
import { readError, sendFile, sendSuccessfully, startOlderRooms } from '../../kit/rooms/older-routes.ts'
import { shareResource } from '../../kit/share-resource.ts'

const older = shareResource(startOlderRooms)

test('people change their profile and read their passkey backup by older routes', async () => {
  const { svc, ada } = older
  expect(
    await sendSuccessfully(ada, 'POST', '/req/profile/update', { displayName: 'Ada L.', bio: 'Plays chess.' }),
  ).toEqual({
    success: true,
    response: expect.any(String),
  })
  expect(await sendSuccessfully(ada, 'POST', '/req/profile/update', { displayName: '' })).toMatchObject({
    success: true,
  })
  const { data } = (await ada.send('GET', '/api/svc/v1/users/me')).body as { data: { attributes: object } }
  expect(data.attributes).toMatchObject({ displayName: 'Ada L.', bio: 'Plays chess.' })
  const form = new FormData()
  form.append('image', new Blob([PNG as Uint8Array<ArrayBuffer>]), 'dot.png')
  const { status, body } = await sendFile(svc, ada, '/req/profile/uploadAvatar', form)
  expect([status, body]).toEqual([200, { success: true, url: expect.any(String) }])
  expect((await ada.send('GET', String(body['url']))).headers.get('content-type')).toBe('image/webp')
  expect(await readError(ada, 'GET', '/req/profile/requestPasskeyBackup')).toEqual([404, 'not_found'])
  const backup = { ciphertext: 'aQ==', iv: 'aXY=', tag: 'dGFn' }
  await svc.rows(
    'insert into passkey_backups (user_id, ciphertext, iv, tag) select id, $1, $2, $3 from users where username = $4',
    [...Object.values(backup), 'ada'],
  )
  expect(await sendSuccessfully(ada, 'GET', '/req/profile/requestPasskeyBackup')).toEqual({
    success: true,
    passkeyBackup: backup,
  })

  expect(await readError(ada, 'POST', '/req/profile/update', { displayName: 'a'.repeat(500) })).toEqual([
    422,
    '/displayName',
  ])
  for (const [method, path] of [
    ['POST', 'update'],
    ['POST', 'uploadAvatar'],
    ['GET', 'requestPasskeyBackup'],
  ] as const)
    expect(await readError(openBrowser(svc.url), method, `/req/profile/${path}`)).toEqual([401, 'signed_out'])
})

test('a person without a picture has null for existing front ends', async () => {
  const { svc, makeRoom, say, bob, join } = older
  const slug = await makeRoom()
  await join(slug, bob, 'bob', 'editor')
  await say(slug, 'Hello', {}, bob)
  const pictures = async () => {
    const { members, messagesData } = (await sendSuccessfully(bob, 'GET', `/req/room/${slug}`)) as Record<
      string,
      { username: string; avatar_url: string | null; author: { avatar_url: string | null } }[]
    >
    const one = await sendSuccessfully(bob, 'GET', `/req/room/message/get/${slug}/1.000`)
    return [
      members?.find(({ username }) => username === 'bob')?.avatar_url,
      messagesData?.[0]?.author.avatar_url,
      (one['author'] as { avatar_url: string | null }).avatar_url,
    ]
  }
  expect(await pictures()).toEqual([null, null, null])

  const form = new FormData()
  form.append('image', new Blob([PNG as Uint8Array<ArrayBuffer>]), 'dot.png')
  const { body } = await sendFile(svc, bob, '/req/profile/uploadAvatar', form)

  expect(await pictures()).toEqual([body['url'], body['url'], body['url']])
})

test('rooms are listed for existing front ends without their messages', async () => {
  const { ada, makeRoom } = older
  const slug = await makeRoom()
  const { data } = await sendSuccessfully(ada, 'GET', '/req/room?size=200')
  expect(data).toContainEqual(expect.objectContaining({ slug, name: 'Chess & Go', role: 'admin', room_icon: '' }))
  expect(data).not.toContainEqual(expect.objectContaining({ messagesData: expect.anything() }))
})
