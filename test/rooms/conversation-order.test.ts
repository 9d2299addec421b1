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

test('an archived conversation keeps pin and folder, and only its owner archives it', async () => {
  const { id, conversations, begin } = await person()
  const { conversations: others } = await person()
  const guests = createClient({ url: svc.url }).conversations
  const [first, second] = [await begin('First'), await begin('Second')]
  await conversations.organize.mutate({ slug: first, isPinned: true, folder: 'Office' })

  const archived = await conversations.organize.mutate({ slug: first, isArchived: true })

  expect(archived).toMatchObject({ isPinned: true, folder: 'Office', isArchived: true })
  const found = async (query: Parameters<typeof conversations.list.query>[0]) =>
    (await conversations.list.query(query)).data.map(({ slug }) => slug)
  expect(await found({ isArchived: true })).toEqual([first])
  expect(await found({ isArchived: false })).toEqual([second])
  expect(await found({ name: 'FIRST' })).toEqual([first])
  expect(await conversations.folders.query()).toEqual([])
  expect((await others.list.query({ isArchived: true })).data).toEqual([])
  const change = { slug: first, isArchived: false }
  await expect(others.organize.mutate(change)).rejects.toMatchObject({ code: 'not_found' })
  await expect(guests.organize.mutate(change)).rejects.toMatchObject({ code: 'signed_out' })
  const [last] = await svc.rows('select kind, subject from change_log where stream = $1 order by seq desc limit 1', [
    `user:${id}`,
  ])
  expect(last).toEqual({ kind: 'conversations.updated', subject: first })
  expect(await conversations.organize.mutate(change)).toMatchObject({ isArchived: false })
  expect(await conversations.folders.query()).toEqual([{ name: 'Office', count: 1 }])
})

test('an encrypted name stands until the conversation is renamed in clear text', async () => {
  const { conversations } = await person()
  const { slug } = await conversations.create.mutate({ name: 'Chat of today', sealedName: content })
  const { conversations: others } = await person()

  const { sealedName } = await conversations.update.mutate({ slug, systemPrompt: content })
  const sealedAgain = await conversations.update.mutate({ slug, sealedName: `${content.slice(0, -2)}0=` })
  const renamed = await conversations.update.mutate({ slug, name: 'Budget' })

  expect(sealedName).toBe(content)
  expect(sealedAgain).toMatchObject({ name: 'Chat of today', sealedName: 'aXY=|dGFn|dGV4dA0=' })
  expect(renamed).toMatchObject({ name: 'Budget', sealedName: null })
  await expect(others.update.mutate({ slug, sealedName: content })).rejects.toMatchObject({ code: 'not_found' })
  for (const wrong of ['Clear', 'a|b|'.concat('c'.repeat(2000))])
    await expect(conversations.update.mutate({ slug, sealedName: wrong })).rejects.toMatchObject({ code: 'invalid' })
})

test('encrypted options are kept with the conversation, and encrypted settings with the person', async () => {
  const { conversations } = await person()
  const { conversations: others } = await person()
  const other = 'aXY=|dGFn|bmV3'
  const { slug, sealedOptions } = await conversations.create.mutate({ sealedOptions: content, sealedName: content })

  await conversations.changeSettings.mutate({ sealed: content })
  const changed = await conversations.update.mutate({ slug, sealedOptions: other })

  expect(sealedOptions).toBe(content)
  expect(changed).toMatchObject({ sealedOptions: other, sealedName: content })
  expect(await conversations.settings.query()).toEqual({ sealed: content })
  expect(await others.settings.query()).toEqual({ sealed: null })
  await expect(others.update.mutate({ slug, sealedOptions: content })).rejects.toMatchObject({ code: 'not_found' })
  await expect(conversations.changeSettings.mutate({ sealed: 'clear' })).rejects.toMatchObject({ code: 'invalid' })
  await conversations.changeSettings.mutate({ sealed: null })
  expect(await conversations.settings.query()).toEqual({ sealed: null })
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
    await expect(conversations.organize.mutate({ slug, ...change })).rejects.toMatchObject({ code: 'quota_reached' })
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
    await expect(conversations.organize.mutate({ slug: other, ...change })).rejects.toMatchObject({
      code: 'quota_reached',
    })
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

test('many conversations are archived, moved, deleted and restored by one call each', async () => {
  const { id, conversations, begin } = await person()
  const { conversations: others, begin: beginOther } = await person()
  const guests = createClient({ url: svc.url }).conversations
  const own = [await begin('First'), await begin('Second')]
  const foreign = await beginOther('Foreign')
  const slugs = [...own, foreign, 'nowhere']
  const list = async (isArchived: boolean) =>
    (await conversations.list.query({ isArchived })).data.map(({ slug, folder }) => ({ slug, folder })).toReversed()

  expect(await conversations.organizeSelected.mutate({ slugs, folder: 'Office', isArchived: true })).toEqual({
    slugs: own,
  })
  expect(await list(true)).toEqual(own.map((slug) => ({ slug, folder: 'Office' })))
  expect(await conversations.organizeSelected.mutate({ slugs, isArchived: false })).toEqual({ slugs: own })
  expect(await list(false)).toEqual(own.map((slug) => ({ slug, folder: 'Office' })))
  expect(await conversations.discardSelected.mutate({ slugs })).toEqual({ slugs: own })
  expect(await list(false)).toEqual([])
  expect(await others.restoreSelected.mutate({ slugs: own })).toEqual({ slugs: [] })
  const restored = await conversations.restoreSelected.mutate({ slugs })

  expect(restored.slugs.toSorted()).toEqual(own.toSorted())
  expect((await others.list.query({})).data).toMatchObject([{ slug: foreign, folder: null, isArchived: false }])
  const kinds = await svc.rows<{ kind: string }>(
    `select kind from change_log where stream = $1 and subject = $2 order by seq`,
    [`user:${id}`, own[0]],
  )
  expect(kinds.map(({ kind }) => kind.replace('conversations.', ''))).toEqual([
    'created',
    'updated',
    'updated',
    'deleted',
    'created',
  ])
  const tooMany = Array.from({ length: 201 }, (_, index) => `slug-${index}`)
  for (const call of ['organizeSelected', 'discardSelected', 'restoreSelected'] as const) {
    await expect(guests[call].mutate({ slugs: own })).rejects.toMatchObject({ code: 'signed_out' })
    for (const wrong of [tooMany, []])
      await expect(conversations[call].mutate({ slugs: wrong })).rejects.toMatchObject({ code: 'invalid' })
  }
})
