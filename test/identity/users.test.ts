import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterEach, describe, expect, test } from 'vitest'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import { removeEverybody } from '../kit/identity/first-keys.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { addPeople, createApiClient, idsOf, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const picture = (format: 'png' | 'jpeg') =>
  sharp({ create: { width: 40, height: 20, channels: 3, background: '#336699' } })
    .withExif({ IFD0: { Copyright: 'EXIF-CANARY' } })
    .toFormat(format)
    .toBuffer()

const svc = shareResource(startJsonApi)
afterEach(async () => {
  await removeEverybody(svc)
  Object.assign(svc, await addPeople(svc))
})

describe('users', () => {
  test('people find themselves and the AI user, and nobody else', async () => {
    const { ada, bob, admin } = svc.people
    const { list, total } = await svc.ada.get('/users?sort=-username')
    expect([idsOf(list), total]).toEqual([[String(AI_USER_ID), String(ada.id)], 2])
    for (const hidden of [bob.id, admin.id, 99999]) expect((await svc.ada.get(`/users/${hidden}`)).status).toBe(404)
    expect((await svc.ada.get(`/users?page[size]=1&page[number]=2`)).meta['page']).toMatchObject({
      total: 2,
      lastPage: 2,
    })
    expect((await svc.adminReading.get('/users')).total).toBe(2)
    const { text } = await svc.ada.get('/users')
    for (const { username, email, name } of [bob, admin])
      for (const word of [username, email, name]) expect(text).not.toContain(`"${word}"`)
    const say = async (id: number) => {
      const { status, errors } = await svc.ada.get(`/users/${id}`)
      return [status, errors[0]?.detail?.replace(String(id), 'N')]
    }
    expect(await say(bob.id)).toEqual(await say(99999))
  })

  test('users show their address and role to themselves and to administrators alone', async () => {
    const { ada, bob } = svc.people
    const own = await svc.ada.get(`/users/${ada.id}`)
    expect(own.one.attributes).toEqual({
      publicKey: makePublicKey('ada'),
      displayName: ada.name,
      username: 'ada',
      email: ada.email,
      bio: null,
      avatar: null,
      role: 'user',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    const ai = await svc.ada.get(`/users/${AI_USER_ID}`)
    expect(Object.keys(ai.one.attributes).sort()).toEqual([
      'avatar',
      'bio',
      'createdAt',
      'displayName',
      'publicKey',
      'updatedAt',
      'username',
    ])
    expect((await svc.admin.get('/users')).total).toBe(4)
    expect((await svc.admin.get(`/users/${bob.id}`)).one.attributes).toMatchObject({ email: bob.email, role: 'user' })
    expect((await svc.ada.get(`/users/${AI_USER_ID}?fields[users]=email,role,username`)).one.attributes).toEqual({
      username: 'svc',
    })
    for (const sort of ['email', 'role', 'bio']) expect((await svc.ada.get(`/users?sort=${sort}`)).status).toBe(400)
  })

  test('me is the caller', async () => {
    const { ada } = svc.people
    const { status, one, links } = await svc.ada.get('/users/me')
    expect([status, one.id, one.links['self'], links['self']]).toEqual([
      200,
      String(ada.id),
      `/api/svc/v1/users/${ada.id}`,
      '/api/svc/v1/users/me',
    ])
    expect(one.attributes).toMatchObject({ username: 'ada', email: ada.email })
    expect((await svc.ada.get('/users/me?fields[users]=username')).one.attributes).toEqual({ username: 'ada' })
    expect((await svc.guest.get('/users/me')).status).toBe(401)
    expect((await svc.ada.get('/users/me?include=x')).errors[0]?.source).toEqual({ parameter: 'include' })
    const narrow = await svc.host.tokens.createFor({ user: { id: ada.id }, name: 'ai', abilities: ['ai'] })
    for (const path of ['/users/me', '/users', '/ai-models', '/configs'])
      expect([path, (await createApiClient(svc, narrow.token).get(path)).status]).toEqual([
        path,
        path === '/configs' ? 200 : 403,
      ])
    for (const path of ['/users', `/users/${ada.id}`, `/users/${AI_USER_ID}`])
      expect((await svc.guest.get(path)).status).toBe(401)
  })

  test('people change themselves and nobody else', async () => {
    const { ada, bob } = svc.people
    const changed = await svc.ada.update('users', ada.id, { displayName: '  Ada L. ', bio: 'Reads.' })
    expect([changed.status, changed.meta]).toEqual([200, { _svc_sync_log: [] }])
    expect(changed.one.attributes).toMatchObject({ displayName: 'Ada L.', bio: 'Reads.' })
    expect((await svc.ada.update('users', ada.id, { bio: null })).one.attributes['bio']).toBeNull()
    expect((await svc.ada.update('users', ada.id, {})).status).toBe(200)
    for (const [attributes, ...at] of [
      [{ displayName: '' }, 'displayName'],
      [{ name: 'x' }, 'name'],
      [{ bio: 5, role: 'owner' }, 'bio', 'role'],
      [{ bio: 'a\u0000' }, 'bio'],
    ] as const) {
      const refusal = await svc.ada.update('users', ada.id, attributes)
      expect([refusal.status, pointersOf(refusal)]).toEqual([422, at.map((name) => `/data/attributes/${name}`)])
    }
    for (const attributes of [{ username: 'x' }, { email: 'x@example.org' }]) {
      const refusal = await svc.ada.update('users', ada.id, attributes)
      expect([refusal.status, refusal.errors[0]?.code]).toEqual([403, 'read_only'])
    }
    // Existing and missing people are treated alike.
    for (const id of [bob.id, 99999, AI_USER_ID])
      expect((await svc.ada.update('users', id, { displayName: 'x' })).status).toBe(403)
    for (const id of [bob.id, 99999]) expect((await svc.ada.update('users', id, {})).status).toBe(404)
    expect((await svc.guest.update('users', ada.id, { bio: 'x' })).status).toBe(401)
    expect((await svc.adminReading.update('users', svc.people.admin.id, { bio: 'x' })).status).toBe(403)
    expect((await svc.ada.update('users', ada.id, {}, { rooms: toOne('users', 1) })).status).toBe(422)
    expect((await svc.ada.create('users', { displayName: 'x' })).status).toBe(405)
    const [row] = await svc.rows<{ name: string }>('select name from users where id = $1', [bob.id])
    expect(row?.name).toBe(bob.name)
  })

  test('pictures are encoded again, and removed by null', async () => {
    const { ada } = svc.people
    const change = async (avatar: string | null) => svc.ada.update('users', ada.id, { avatar })
    const keyOf = (identifier: unknown) => String(identifier).replace('profile_avatars-', 'avatars/').concat('.webp')
    const fileOf = (identifier: unknown) => join(svc.folder, 'files', keyOf(identifier))
    const first = await change((await picture('png')).toString('base64'))
    expect([first.status, first.text.includes('EXIF-CANARY')]).toEqual([200, false])
    const key = first.one.attributes['avatar']
    const { services } = svc
    const stored = Buffer.from((await services.files.storage.get(keyOf(key))) as Uint8Array)
    expect(await sharp(stored).metadata()).toMatchObject({ format: 'webp', width: 256, height: 256 })
    expect(stored.includes('EXIF-CANARY')).toBe(false)
    const second = await change((await picture('jpeg')).toString('base64'))
    expect(second.one.attributes['avatar']).not.toBe(key)
    await expect(stat(fileOf(key))).rejects.toThrow()
    expect((await change(null)).one.attributes['avatar']).toBeNull()
    await expect(stat(fileOf(second.one.attributes['avatar']))).rejects.toThrow()
  })

  test('an invalid picture is refused together with all other changes', async () => {
    await using svc = await startJsonApi({ MAX_AVATAR_FILE_SIZE: '100000' })
    const { ada } = svc.people
    const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'
    const wrong = [
      'not base64!',
      '',
      Buffer.from('Just a text.').toString('base64'),
      Buffer.from(svg).toString('base64'),
      (await picture('png')).subarray(0, 60).toString('base64'),
      Buffer.alloc(100_001).toString('base64'),
    ]
    for (const avatar of wrong) {
      const refusal = await svc.ada.update('users', ada.id, { displayName: 'Somebody else', avatar })
      expect([refusal.status, pointersOf(refusal)]).toEqual([422, ['/data/attributes/avatar']])
    }
    expect((await svc.ada.get('/users/me')).one.attributes).toMatchObject({ displayName: ada.name, avatar: null })
    expect((await svc.ada.update('users', svc.people.bob.id, { avatar: null })).status).toBe(403)
  })

  test('a picture of the largest size allowed comes through', async () => {
    const noise = await sharp({
      create: {
        width: 810,
        height: 810,
        channels: 3,
        background: '#000',
        noise: { type: 'gaussian', mean: 128, sigma: 60 },
      },
    })
      .png({ compressionLevel: 0 })
      .toBuffer()
    expect(noise.length).toBeGreaterThan(1_900_000)
    expect(noise.length).toBeLessThan(2 * 1024 * 1024)
    const { status } = await svc.ada.update('users', svc.people.ada.id, { avatar: noise.toString('base64') })
    expect(status).toBe(200)
  })

  test('administrators give roles, which hold at once', async () => {
    const { ada, bob } = svc.people
    for (const who of [svc.ada, svc.adminReading])
      expect((await who.update('users', ada.id, { role: 'admin' })).status).toBe(403)
    const raised = await svc.admin.update('users', ada.id, { role: 'admin' })
    expect([raised.status, raised.one.attributes['role'], raised.meta]).toEqual([200, 'admin', { _svc_sync_log: [] }])
    expect((await svc.ada.get('/users')).total).toBe(4)
    expect((await svc.admin.update('users', bob.id, { role: 'admin', displayName: 'Other' })).status).toBe(403)
    expect((await svc.admin.get(`/users/${bob.id}`)).one.attributes).toMatchObject({
      role: 'user',
      displayName: bob.name,
    })
    await svc.admin.update('users', ada.id, { role: 'user' })
    expect((await svc.ada.get('/users')).total).toBe(2)
    expect((await svc.admin.update('users', 99999, { role: 'admin' })).status).toBe(404)
  })

  test('the AI user cannot be changed', async () => {
    for (const who of [svc.ada, svc.admin]) {
      for (const attributes of [{ displayName: 'x' }, { role: 'admin' }, { avatar: null }, {}])
        expect((await who.update('users', AI_USER_ID, attributes)).status).toBe(403)
      expect((await who.delete(`/users/${AI_USER_ID}`)).status).toBe(403)
    }
    expect((await svc.admin.get(`/users/${AI_USER_ID}`)).one.attributes).toMatchObject({
      displayName: 'svc',
      role: 'user',
    })
  })

  test('an administrator erases somebody with all they own', async () => {
    const { ada, bob } = svc.people
    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.bob, 403],
      [svc.adminReading, 403],
    ] as const)
      for (const id of [bob.id, 99999]) expect((await who.delete(`/users/${id}`)).status).toBe(status)
    const { status, meta, text } = await svc.admin.delete(`/users/${ada.id}`)
    expect([status, meta, Object.keys(JSON.parse(text))]).toEqual([200, { _svc_sync_log: [] }, ['jsonapi', 'meta']])
    expect((await svc.ada.get('/users/me')).status).toBe(401)
    expect((await svc.admin.get(`/users/${ada.id}`)).status).toBe(404)
    expect((await svc.admin.delete(`/users/${ada.id}`)).status).toBe(404)
    expect(await svc.rows('select 1 from access_tokens where user_id = $1', [ada.id])).toEqual([])
    expect((await svc.bob.get('/users/me')).status).toBe(200)
  })
})
