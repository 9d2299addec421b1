import sharp from 'sharp'
import { expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { addAssistantWithKnowledge, readAddress } from '../kit/assistants/answers.ts'
import { callKnowledge } from '../kit/assistants/knowledge.ts'
import { addAdministrator, addPerson, buildContent, callAssistants } from '../kit/assistants/people.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithProvider(answers('Good day.'), {}, { ASSISTANTS_REVIEW: 'true' }))

const createPeople = async () => {
  const { svc } = app
  const [owner, colleague, stranger] = [await addPerson(svc), await addPerson(svc, ['staff']), await addPerson(svc)]
  return { svc, owner, colleague, stranger, admin: await addAdministrator(svc), handle: `helper-${owner.id}` }
}

/** Asks a model or an assistant; returns the status, and the instructions that the provider got. */
async function ask(token: string, model: string) {
  const messages = [{ role: 'user', content: 'Hello' }]
  const before = app.upstream.requests.length
  const { status } = await app.svc.send('POST', '/v1/chat/completions', { token, body: { model, messages } })
  const request = app.upstream.requests.slice(before).at(-1)
  return { status, system: request?.body.messages[0]?.content }
}

test('an assistant for all waits until an administrator approves what they have read', async () => {
  const { owner, stranger, admin, handle } = await createPeople()
  await owner.create(handle)

  expect((await owner.shareWithAll(handle)).data).toMatchObject({ audience: 'private', isWaiting: true })
  expect((await owner.call('get', { handle })).data).toMatchObject({ audience: 'private', waiting: 1, refusal: null })
  expect((await stranger.call('get', { handle })).status).toBe(404)
  expect((await ask(stranger.token, `assistant/${handle}`)).status).toBe(404)
  const { data } = await admin.call('waiting', { limit: 200 })
  expect(data.assistants).toContainEqual({
    handle,
    name: 'Thesis helper',
    owner: owner.username,
    audience: 'private',
    version: 1,
    published: 1,
    waitingSince: expect.stringMatching(/Z$/),
  })
  expect((await admin.call('review', { handle })).data).toMatchObject({
    version: 1,
    content: { systemPrompt: 'Answer as a librarian.' },
  })

  expect((await admin.call('approve', { handle, version: 1 })).data).toMatchObject({ version: 1, isPublished: true })
  expect((await stranger.call('get', { handle })).data).toMatchObject({ audience: 'all', waiting: null })
  expect((await ask(stranger.token, `assistant/${handle}`)).status).toBe(200)
  expect((await admin.call('review', { handle })).status).toBe(404)
})

test('editors and reviewers see that files have changed since a version', async () => {
  const { owner, handbook, handle } = await addAssistantWithKnowledge(app.svc, { 'fees.md': 'Pottery costs 40 euros.' })
  const admin = await addAdministrator(app.svc)
  const save = () =>
    owner.call('save', {
      handle,
      content: buildContent({ knowledge: handbook.knowledge, name: 'Expert' }),
      publish: true,
    })
  const readFacts = async () => [
    ...(await owner.call('versions', { handle })).data.map(
      (version: { hasChangedFiles: boolean }) => version.hasChangedFiles,
    ),
    (await admin.call('review', { handle })).data.hasChangedFiles,
  ]

  expect(await readFacts()).toEqual([false, false])
  await handbook.upload('fees.md', 'Pottery costs 50 euros.')
  await handbook.untilRead()
  expect(await readFacts()).toEqual([true, true])
  await save()
  await owner.shareWithAll(handle)
  expect(await readFacts()).toEqual([false, true, false])
})

test('a later change answers only editors until it is approved', async () => {
  const { owner, stranger, admin, handle } = await createPeople()
  await owner.create(handle)
  await owner.shareWithAll(handle)
  await admin.call('approve', { handle, version: 1 })
  const content = buildContent({ name: 'Changed', systemPrompt: 'Answer as an archivist.' })

  expect((await owner.call('save', { handle, content, publish: true })).data).toEqual({
    handle,
    version: 2,
    isPublished: false,
    isWaiting: true,
  })
  expect(await ask(stranger.token, `assistant/${handle}`)).toEqual({ status: 200, system: 'Answer as a librarian.' })
  expect((await ask(stranger.token, `assistant/${handle}@2`)).status).toBe(404)
  expect(await ask(owner.token, `assistant/${handle}@2`)).toMatchObject({ system: 'Answer as an archivist.' })
  expect((await stranger.call('get', { handle })).data).toMatchObject({ name: 'Thesis helper', version: 1 })
  expect((await admin.call('review', { handle })).data).toMatchObject({
    content: { systemPrompt: 'Answer as an archivist.' },
    publishedContent: { systemPrompt: 'Answer as a librarian.' },
  })

  // What waits changed after the administrator had read it.
  await owner.call('save', { handle, content: { ...content, systemPrompt: 'Obey.' }, publish: true })
  expect(await admin.call('approve', { handle, version: 2 })).toMatchObject({ status: 409, problem: 'conflict' })
  await owner.call('publish', { handle, version: 2 })
  expect((await admin.call('approve', { handle, version: 2 })).status).toBe(200)
  expect(await ask(stranger.token, `assistant/${handle}`)).toMatchObject({ system: 'Answer as an archivist.' })
  expect((await ask(stranger.token, `assistant/${handle}@3`)).status).toBe(404)
  expect((await owner.call('publish', { handle, version: 1 })).data).toEqual({ handle, version: 1, isPublished: true })
})

test('an administrator sees the picture of a version while it waits', async () => {
  const { svc, owner, stranger, admin, handle } = await createPeople()
  await owner.create(handle)
  await owner.shareWithAll(handle)
  await admin.call('approve', { handle, version: 1 })
  const image = sharp({ create: { width: 40, height: 30, channels: 3, background: 'navy' } })
  const avatar = (await image.png().toBuffer()).toString('base64')
  expect((await owner.call('setAvatar', { handle, avatar, publish: true })).data).toMatchObject({ isWaiting: true })

  const { content, publishedContent } = (await admin.call('review', { handle })).data
  expect(publishedContent.avatar).toBeNull()
  const look = async (token: string) => (await svc.send('GET', `/proxy/storage/${content.avatar}`, { token })).status
  expect([await look(admin.token), await look(stranger.token)]).toEqual([200, 404])
  await admin.call('refuse', { handle, version: 2, reason: 'It shows a person.' })
  expect([await look(admin.token), await look(owner.token)]).toEqual([404, 200])
})

test('a refusal tells its reason to the editors alone, and changes nothing else', async () => {
  const { svc, owner, colleague, admin, handle } = await createPeople()
  await owner.create(handle)
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  await owner.shareWithAll(handle)

  expect((await admin.call('refuse', { handle, version: 1, reason: ' ' })).status).toBe(400)
  expect((await admin.call('refuse', { handle, version: 1, reason: 'It names a person.' })).status).toBe(200)
  const refusal = { version: 1, reason: 'It names a person.' }
  expect((await owner.call('get', { handle })).data).toMatchObject({ waiting: null, refusal, audience: 'groups' })
  const { data } = await colleague.call('get', { handle })
  expect(data).toMatchObject({ audience: 'groups', waiting: null })
  expect(data.refusal).toBeUndefined()
  const rows = await svc.rows<{ act: string; change: string }>(
    'select act, change from audit_entries where subject = $1 order by seq',
    [`assistants:${handle}`],
  )
  expect(rows.map(({ act }) => act).slice(-2)).toEqual(['assistants.share', 'assistants.refuse'])
  expect(JSON.stringify(rows)).not.toContain('names a person')

  await owner.shareWithAll(handle)
  expect((await owner.call('get', { handle })).data).toMatchObject({ waiting: 1, refusal: null })
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  expect((await owner.call('get', { handle })).data).toMatchObject({ waiting: null })
})

test('a refused version is proposed again by each way to publish it', async () => {
  const { owner, admin, handle } = await createPeople()
  await owner.create(handle)
  await owner.shareWithAll(handle)
  await admin.call('approve', { handle, version: 1 })
  const content = buildContent({ systemPrompt: 'Answer as an archivist.' })
  await owner.call('save', { handle, content, publish: true })
  const kept = { handle, version: 2, isPublished: false }
  const state = async () => (await owner.call('get', { handle })).data
  const ways: [string, object][] = [
    ['publish', { version: 2 }],
    ['save', { content, publish: true }],
    ['restore', { version: 2, publish: true }],
  ]

  for (const [name, input] of ways) {
    const refusal = { version: 2, reason: `Not by ${name}.` }
    await admin.call('refuse', { handle, ...refusal })
    expect((await owner.call('restore', { handle, version: 2, publish: false })).data).toEqual(kept)
    expect(await state(), name).toMatchObject({ waiting: null, refusal, latest: 2 })
    expect((await owner.call(name, { handle, ...input })).data).toEqual({ ...kept, isWaiting: true })
    expect(await state(), name).toMatchObject({ waiting: 2, refusal: null, latest: 2, published: 1 })
  }
  expect((await admin.call('approve', { handle, version: 2 })).data).toMatchObject({ isPublished: true })
})

test('a version of a group needs no approval, and is usable by nobody else', async () => {
  const { owner, colleague, stranger, admin, handle } = await createPeople()
  await owner.create(handle, { systemPrompt: 'First.' })
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  await owner.call('save', { handle, content: buildContent({ systemPrompt: 'Second.' }), publish: true })
  expect(await ask(colleague.token, `assistant/${handle}`)).toMatchObject({ system: 'Second.' })
  await owner.shareWithAll(handle)
  await admin.call('approve', { handle, version: 2 })

  expect(await ask(stranger.token, `assistant/${handle}@2`)).toMatchObject({ system: 'Second.' })
  expect((await ask(stranger.token, `assistant/${handle}@1`)).status).toBe(404)
  expect((await ask(owner.token, `assistant/${handle}@1`)).system).toBe('First.')
})

test('a version that was approved before waits no more once it is published again', async () => {
  const { owner, stranger, admin, handle } = await createPeople()
  const readState = async () => (await owner.call('get', { handle })).data
  await owner.create(handle, { systemPrompt: 'First.' })
  await owner.shareWithAll(handle)
  await admin.call('approve', { handle, version: 1 })
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  await owner.call('save', { handle, content: buildContent({ systemPrompt: 'Second.' }), publish: true })
  await owner.shareWithAll(handle)
  expect(await readState()).toMatchObject({ audience: 'groups', published: 2, waiting: 2 })

  await owner.call('publish', { handle, version: 1 })
  expect(await readState()).toMatchObject({ audience: 'groups', published: 1, waiting: null })
  expect((await owner.shareWithAll(handle)).data).toMatchObject({ audience: 'all' })
  expect(await readState()).toMatchObject({ audience: 'all', published: 1, waiting: null })
  expect((await ask(stranger.token, `assistant/${handle}`)).system).toBe('First.')
})

test("a citation of a group's version opens for nobody else later", async () => {
  const { svc, admin } = await createPeople()
  const { owner, asker, handbook, handle, model } = await addAssistantWithKnowledge(svc, { 'fees.md': '40 euros.' })
  const colleague = await addPerson(svc, ['staff'])
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  const messages = [{ role: 'user', content: 'What does it cost?' }]
  await app.answerBy(answers('It costs 40 euros [1].'))
  const answer = await svc.send('POST', '/v1/chat/completions', { token: colleague.token, body: { model, messages } })
  const address = await readAddress(answer)
  const open = async ({ token }: { token: string }) =>
    (await callKnowledge(svc, 'openCitation', { address }, token)).status
  expect(await open(colleague)).toBe(200)

  await owner.call('save', { handle, content: buildContent(), publish: true })
  await owner.shareWithAll(handle)
  await admin.call('approve', { handle, version: 2 })
  expect([await open(asker), await open(owner)]).toEqual([404, 200])
  await owner.call('save', { handle, content: buildContent({ knowledge: handbook.knowledge }), publish: true })
  await admin.call('approve', { handle, version: 3 })
  expect(await open(asker)).toBe(200)
})

test('only administrators see what waits, and approve or refuse it', async () => {
  const { svc, owner, stranger, handle } = await createPeople()
  await owner.create(handle)
  await owner.shareWithAll(handle)
  const inputs: [string, object][] = [
    ['waiting', {}],
    ['review', { handle }],
    ['approve', { handle, version: 1 }],
    ['refuse', { handle, version: 1, reason: 'No.' }],
  ]

  for (const [name, input] of inputs) {
    for (const person of [owner, stranger]) expect((await person.call(name, input)).problem, name).toBe('admin_only')
    expect((await callAssistants(svc, name, input)).problem, name).toBe('signed_out')
  }
  expect((await stranger.call('get', { handle })).status).toBe(404)
})
