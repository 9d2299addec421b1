import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { addPerson, buildContent, callAssistants } from '../kit/assistants/people.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithProvider(answers('Good day.')))

const createPeople = async () => {
  const { svc } = app
  const [owner, colleague, stranger] = [await addPerson(svc), await addPerson(svc, ['staff']), await addPerson(svc)]
  return { svc, owner, colleague, stranger, handle: `helper-${owner.id}` }
}

const paint = async (background: string) => {
  const image = sharp({ create: { width: 40, height: 30, channels: 3, background } })
  return (await image.png().toBuffer()).toString('base64')
}

/** Looks at a picture as a person, or as a guest. */
const look = async (identifier: string, token?: string) =>
  (await app.svc.send('GET', `/proxy/storage/${identifier}`, { token })).status

const pictureFiles = () => readdir(join(app.svc.folder, 'files/avatars')).catch(() => [])

test("a picture belongs to a version, and is seen by the assistant's users only", async () => {
  const { owner, colleague, stranger, handle } = await createPeople()
  await owner.create(handle)
  const set = (more: object) => owner.call('setAvatar', { handle, ...more })

  expect((await set({ avatar: await paint('navy'), publish: true })).data).toMatchObject({
    version: 2,
    isPublished: true,
  })
  const first = (await owner.call('get', { handle })).data.avatar
  expect(first).toMatch(/^assistant_avatars-[0-9a-f-]{36}$/)
  expect([await look(first, owner.token), await look(first, colleague.token), await look(first)]).toEqual([
    200, 404, 401,
  ])
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  expect([await look(first, colleague.token), await look(first, stranger.token)]).toEqual([200, 404])

  expect((await owner.call('version', { handle, version: 2 })).data.avatar).toBe(first)
  expect((await set({ avatar: null, publish: true, basedOn: 1 })).problem).toBe('conflict')
  // A later picture is a draft, and a saved text keeps the newest one.
  await set({ avatar: await paint('red') })
  await owner.call('save', { handle, content: buildContent({ name: 'Renamed' }) })
  expect((await colleague.call('get', { handle })).data).toMatchObject({ avatar: first, version: 2 })
  await owner.call('publish', { handle, version: 4 })
  const second = (await colleague.call('get', { handle })).data.avatar
  expect(second).not.toBe(first)
  expect([
    await look(second, colleague.token),
    await look(first, colleague.token),
    await look(first, owner.token),
  ]).toEqual([200, 404, 200])
  await owner.call('restore', { handle, version: 2, publish: true })
  expect((await colleague.call('get', { handle })).data.avatar).toBe(first)
  await set({ avatar: null, publish: true })
  expect((await colleague.call('get', { handle })).data.avatar).toBeNull()
})

test('a picture is refused to strangers, and so is what is no picture', async () => {
  const { svc, owner, stranger, handle } = await createPeople()
  await owner.create(handle)
  const avatar = await paint('navy')
  const before = await pictureFiles()

  const others = await stranger.call('setAvatar', { handle, avatar })
  expect(others).toMatchObject({ status: 404, problem: 'not_found' })
  expect(others).toEqual(await stranger.call('setAvatar', { handle: 'never-was', avatar }))
  expect((await callAssistants(svc, 'setAvatar', { handle, avatar })).problem).toBe('signed_out')
  const text = Buffer.from('no picture').toString('base64')
  expect((await owner.call('setAvatar', { handle, avatar: text })).issues?.[0]?.path).toEqual(['avatar'])
  expect(await pictureFiles()).toEqual(before)
})

test('a deleted assistant leaves no picture, but its copy keeps the shared one', async () => {
  const { owner, stranger, handle } = await createPeople()
  await owner.create(handle)
  await owner.call('setAvatar', { handle, avatar: await paint('green'), publish: true })
  await owner.call('share', { handle, audience: 'all', allowRemix: true })
  await stranger.call('remix', { handle, newHandle: `${handle}-copy` })
  const { avatar } = (await stranger.call('get', { handle: `${handle}-copy` })).data
  const file = `${avatar.replace('assistant_avatars-', '')}.webp`

  await owner.call('delete', { handle })
  expect([await look(avatar, stranger.token), await look(avatar, owner.token)]).toEqual([200, 404])
  await stranger.call('delete', { handle: `${handle}-copy` })
  expect(await pictureFiles()).not.toContain(file)
})

test('people find assistants by tags, and keep favorites of their own', async () => {
  const { svc, owner, stranger, handle } = await createPeople()
  const tag = `Physics ${owner.id}`
  await owner.create(handle, { tags: [tag, 'Thesis', tag] })
  await owner.create(`${handle}-other`)
  const find = async (person: typeof owner, input: object) =>
    (await person.call('list', input)).data.assistants.map((one: { handle: string }) => one.handle)

  expect((await owner.call('get', { handle })).data.tags).toEqual([tag, 'Thesis'])
  expect(await find(owner, { tag })).toEqual([handle])
  expect(await find(stranger, { tag })).toEqual([])
  const others = await stranger.call('favorite', { handle })
  expect(others).toMatchObject({ status: 404 })
  expect(others).toEqual(await stranger.call('favorite', { handle: 'never-was' }))
  expect((await callAssistants(svc, 'favorite', { handle })).problem).toBe('signed_out')

  await owner.shareWithAll(handle)
  await stranger.call('favorite', { handle })
  expect((await stranger.call('favorite', { handle })).data).toEqual({ handle, isFavorite: true })
  expect([await find(stranger, { isFavorite: true }), await find(owner, { isFavorite: true })]).toEqual([[handle], []])
  expect((await stranger.call('get', { handle })).data.isFavorite).toBe(true)
  await stranger.call('favorite', { handle, isFavorite: false })
  expect(await find(stranger, { isFavorite: true })).toEqual([])
})
