import { beforeAll, expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { startApp, type TestApp } from '../kit/app.ts'

/** The content that a browser sends, opaque ciphertext for the service. */
const content = 'aXY=|dGFn|dGV4dA=='

let svc: TestApp
beforeAll(async () => {
  svc = await startApp()
  return () => svc[Symbol.asyncDispose]()
})

async function person() {
  const { id, token } = await svc.user({ abilities: ['read', 'write'] })
  const { conversations } = createClient({ url: svc.url, token })
  const begin = async (name: string) => (await conversations.create.mutate({ name })).slug
  return { id, conversations, begin }
}

test('a message names the one that it follows, and only one that is there', async () => {
  const { conversations, begin } = await person()
  const slug = await begin('Versions')

  await conversations.sendMessage.mutate({ slug, content })
  const again = await conversations.sendMessage.mutate({ slug, content, parent: 0 })
  const next = await conversations.sendMessage.mutate({ slug, content, parent: 2 })
  const refused = conversations.sendMessage.mutate({ slug, content, parent: 9 })

  expect([again.number, again.parent, next.number, next.parent]).toEqual(['2.000', 0, '3.000', 2])
  await expect(refused).rejects.toMatchObject({ code: 'not_found', issues: [{ path: ['parent'] }] })
  const { data } = await conversations.messages.query({ slug })
  expect(data.map(({ parent }) => parent)).toEqual([null, 0, 2])
})

test('conversations are found by name, pin and folder in their usual order', async () => {
  const { conversations, begin } = await person()
  const [first, second, third] = [await begin('Budget 50%'), await begin('Letter'), await begin('Budget 500')]

  await conversations.organize.mutate({ slug: first, isPinned: true, folder: 'Office' })
  await conversations.organize.mutate({ slug: second, folder: 'Office' })

  const found = async (query: Parameters<typeof conversations.list.query>[0]) =>
    (await conversations.list.query(query)).data.map(({ slug }) => slug)
  expect(await found({})).toEqual([third, second, first])
  expect(await found({ isPinned: true })).toEqual([first])
  expect(await found({ folder: 'Office' })).toEqual([second, first])
  expect(await found({ name: '50%' })).toEqual([first])
  expect(await found({ folder: null })).toEqual([third])
  expect(await conversations.folders.query()).toEqual([{ name: 'Office', count: 2 }])
  expect(await conversations.changeFolder.mutate({ name: 'Office', newName: 'Work' })).toEqual([
    { name: 'Work', count: 2 },
  ])
  expect(await conversations.changeFolder.mutate({ name: 'Work', newName: null })).toEqual([])
})

test('renaming a folder is announced for its conversations except discarded ones', async () => {
  const { id, conversations, begin } = await person()
  const [kept, gone] = [await begin('Kept'), await begin('Gone')]
  for (const slug of [kept, gone]) await conversations.organize.mutate({ slug, folder: 'Office' })
  await conversations.discard.mutate({ slug: gone })
  const listChanges = () =>
    svc.rows<object>('select kind, subject from change_log where stream = $1 order by seq', [`user:${id}`])
  const before = (await listChanges()).length

  await conversations.changeFolder.mutate({ name: 'Office', newName: 'Work' })

  expect((await listChanges()).slice(before)).toEqual([{ kind: 'conversations.updated', subject: kept }])
  expect(await conversations.restore.mutate({ slug: gone })).toMatchObject({ folder: 'Work' })
})

test('a person has at most a hundred folders and a hundred pinned conversations', async () => {
  const { id, conversations, begin } = await person()
  const slug = await begin('One more')
  await svc.rows(
    `insert into conversations (user_id, slug, name, folder, is_pinned, created_at, updated_at)
      select $1, 'order' || lpad(n::text, 11, '0'), 'x', 'Folder ' || n, true, now(), now() from generate_series(1, 100) n`,
    [id],
  )

  for (const change of [{ isPinned: true }, { folder: 'One more' }])
    await expect(conversations.organize.mutate({ slug, ...change })).rejects.toMatchObject({ code: 'invalid' })
  await conversations.organize.mutate({ slug, folder: 'Folder 1' })
})

test('a deleted conversation keeps pin and folder until it can no longer be restored', async () => {
  const { id, conversations, begin } = await person()
  const [gone, other] = [await begin('Gone'), await begin('Other')]
  await conversations.organize.mutate({ slug: gone, isPinned: true, folder: 'Alone' })
  await svc.rows(
    `insert into conversations (user_id, slug, name, folder, is_pinned, created_at, updated_at)
      select $1, 'thrown' || lpad(n::text, 10, '0'), 'x', 'Folder ' || n, true, now(), now() from generate_series(1, 99) n`,
    [id],
  )
  await conversations.discard.mutate({ slug: gone })

  for (const change of [{ isPinned: true }, { folder: 'One more' }])
    await expect(conversations.organize.mutate({ slug: other, ...change })).rejects.toMatchObject({ code: 'invalid' })
  expect(await conversations.restore.mutate({ slug: gone })).toMatchObject({ isPinned: true, folder: 'Alone' })
})

test('a deleted conversation can be restored for a while, then loses its messages', async () => {
  const { conversations, begin } = await person()
  const { conversations: others } = await person()
  const [kept, gone] = [await begin('Kept'), await begin('Gone')]
  await conversations.sendMessage.mutate({ slug: gone, content })

  await conversations.discard.mutate({ slug: kept })
  await conversations.discard.mutate({ slug: gone })
  await expect(conversations.get.query({ slug: kept })).rejects.toMatchObject({ code: 'not_found' })
  await expect(others.restore.mutate({ slug: kept })).rejects.toMatchObject({ code: 'not_found' })
  expect((await conversations.list.query({})).data).toEqual([])
  await conversations.restore.mutate({ slug: kept })

  expect(await svc.host.conversations.deleteDiscarded()).toEqual({ deleted: 0 })
  await svc.rows("update conversations set discarded_at = now() - interval '2 minutes' where slug = $1", [gone])
  expect(await svc.host.conversations.deleteDiscarded()).toEqual({ deleted: 1 })
  expect((await conversations.list.query({})).data.map(({ slug }) => slug)).toEqual([kept])
  await expect(conversations.restore.mutate({ slug: gone })).rejects.toMatchObject({ code: 'not_found' })
})
