import { expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { callKnowledge } from '../kit/assistants/knowledge.ts'
import { addPerson, buildContent, callAssistants } from '../kit/assistants/people.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithProvider(answers('Good day.')))

const createPeople = async () => {
  const { svc } = app
  const [owner, colleague, stranger] = [await addPerson(svc), await addPerson(svc, ['staff']), await addPerson(svc)]
  return { svc, owner, colleague, stranger, handle: `helper-${owner.id}` }
}

test('an assistant is private until its owner shares it, and always hidden from guests', async () => {
  const { svc, owner, colleague, stranger, handle } = await createPeople()
  expect(await owner.create(handle)).toMatchObject({ data: { handle, version: 1, isPublished: true } })
  const sees = async (person: typeof owner) => {
    const { data } = await person.call('list')
    const isListed = data.assistants.some((one: { handle: string }) => one.handle === handle)
    return [isListed, (await person.call('get', { handle })).status]
  }

  expect([await sees(owner), await sees(colleague), await sees(stranger)]).toEqual([
    [true, 200],
    [false, 404],
    [false, 404],
  ])
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  expect([await sees(colleague), await sees(stranger)]).toEqual([
    [true, 200],
    [false, 404],
  ])
  await svc.host.admin.setGroups({ user: { id: colleague.id }, groups: ['students'] })
  expect(await sees(colleague)).toEqual([false, 404])
  await owner.shareWithAll(handle)
  expect([await sees(colleague), await sees(stranger)]).toEqual([
    [true, 200],
    [true, 200],
  ])
  expect((await callAssistants(svc, 'list')).problem).toBe('signed_out')
  expect((await callAssistants(svc, 'get', { handle })).problem).toBe('signed_out')
})

test('an administrator sees no private assistant but its handle and owner', async () => {
  const { svc, owner, handle } = await createPeople()
  await owner.create(handle)
  const admin = await svc.user({ role: 'admin', abilities: ['ai', 'read', 'write', 'admin'] })

  expect((await callAssistants(svc, 'get', { handle }, admin.token)).status).toBe(404)
  expect((await callAssistants(svc, 'version', { handle, version: 1 }, admin.token)).status).toBe(404)
  const { assistants } = await svc.host.assistants.overview()
  const row = assistants.find((one) => one.handle === handle)
  expect(row).toEqual({
    handle,
    name: 'Thesis helper',
    owner: owner.username,
    audience: 'private',
    groups: [],
    published: 1,
    latest: 1,
    model: 'mock-1',
  })
})

test('a handle of others and one that never was are answered alike everywhere', async () => {
  const { owner, stranger, handle } = await createPeople()
  await owner.create(handle)
  const inputs: [string, object][] = [
    ['get', {}],
    ['versions', {}],
    ['version', { version: 1 }],
    ['save', { content: buildContent() }],
    ['publish', { version: 1 }],
    ['restore', { version: 1 }],
    ['share', { audience: 'all' }],
    ['delete', {}],
    ['leave', {}],
    ['remix', { newHandle: `${handle}-copy` }],
  ]

  for (const [name, input] of inputs) {
    const [others, never] = [
      await stranger.call(name, { ...input, handle }),
      await stranger.call(name, { ...input, handle: 'never-was' }),
    ]
    expect(others, name).toMatchObject({ status: 404, problem: 'not_found' })
    expect(others, name).toEqual(never)
  }
  expect((await owner.call('get', { handle })).status).toBe(200)
})

test('an editor saves, publishes and reads versions, and only the owner shares and deletes', async () => {
  const { owner, colleague, handle } = await createPeople()
  await owner.create(handle)
  await owner.call('share', { handle, audience: 'private', editors: [colleague.username] })

  expect((await colleague.call('version', { handle, version: 1 })).data).toMatchObject({
    systemPrompt: 'Answer as a librarian.',
    starters: ['How do I cite?'],
  })
  const content = buildContent({ systemPrompt: 'Answer as an archivist.' })
  expect((await colleague.call('save', { handle, content, publish: true })).data).toMatchObject({ version: 2 })
  expect((await owner.call('versions', { handle })).data).toMatchObject([
    { number: 2, author: colleague.name },
    { number: 1, author: owner.name },
  ])
  expect(await colleague.call('share', { handle, audience: 'all' })).toMatchObject({ problem: 'not_permitted' })
  expect(await colleague.call('delete', { handle })).toMatchObject({ problem: 'not_permitted' })
  await owner.call('share', { handle, audience: 'private' })
  expect((await colleague.call('versions', { handle })).status).toBe(404)
})

test('people who only use an assistant read neither its instructions nor its editors', async () => {
  const { owner, stranger, colleague, handle } = await createPeople()
  await owner.create(handle)
  await owner.call('share', { handle, audience: 'all', editors: [colleague.username] })

  const { data } = await stranger.call('get', { handle })
  expect(data).toEqual({
    handle,
    name: 'Thesis helper',
    knowledge: null,
    description: 'Helps with a thesis.',
    detailDescription: '',
    tags: [],
    avatar: null,
    greeting: 'Hello, what do you write about?',
    starters: ['How do I cite?'],
    audience: 'all',
    model: 'mock-1',
    fallback: [],
    parameters: {},
    owner: owner.name,
    published: 1,
    latest: 1,
    version: 1,
    waiting: null,
    allowModelSelect: false,
    isFavorite: false,
    mayEdit: false,
    isOwner: false,
    mayRemix: false,
  })
  expect((await stranger.call('version', { handle, version: 1 })).status).toBe(404)
})

test('a save from an outdated version is refused, and overwrites nothing', async () => {
  const { owner, colleague, handle } = await createPeople()
  await owner.create(handle)
  await owner.call('share', { handle, audience: 'private', editors: [colleague.username] })
  const write = (person: typeof owner, greeting: string) =>
    person.call('save', { handle, content: buildContent({ greeting }), basedOn: 1 })
  expect((await write(colleague, 'Good morning.')).data).toMatchObject({ version: 2 })

  expect(await write(owner, 'Good evening.')).toMatchObject({ status: 409, problem: 'conflict' })
  expect((await owner.call('versions', { handle })).data).toHaveLength(2)
})

test('an editor leaves an assistant, which its owner cannot', async () => {
  const { owner, colleague, handle } = await createPeople()
  await owner.create(handle)
  await owner.call('share', { handle, audience: 'private', editors: [colleague.username] })

  expect((await owner.call('leave', { handle })).problem).toBe('conflict')
  expect((await colleague.call('leave', { handle })).data).toEqual({ handle })
  expect((await colleague.call('get', { handle })).status).toBe(404)
  expect((await owner.call('get', { handle })).data).toMatchObject({ editors: [] })
})

test('an owner hands an assistant over to an editor, and stays as one', async () => {
  const { svc, owner, colleague, stranger, handle } = await createPeople()
  await owner.create(handle)
  const handOver = (person: typeof owner, editor = colleague.username) => person.call('handOver', { handle, editor })
  expect((await handOver(owner)).issues?.[0]).toMatchObject({ path: ['editor'] })
  const editors = [colleague.username]
  await owner.call('share', { handle, audience: 'private', editors })
  expect((await handOver(stranger)).status).toBe(404)
  expect((await handOver(colleague)).problem).toBe('not_permitted')
  expect((await callAssistants(svc, 'handOver', { handle, editor: colleague.username })).problem).toBe('signed_out')
  expect((await handOver(owner, stranger.username)).status).toBe(422)

  expect((await handOver(owner)).data).toEqual({ handle, owner: colleague.username })
  expect((await colleague.call('get', { handle })).data).toMatchObject({ isOwner: true, editors: [owner.username] })
  expect((await owner.call('get', { handle })).data).toMatchObject({ isOwner: false, mayEdit: true })
  expect((await handOver(owner)).problem).toBe('not_permitted')
  expect((await owner.call('delete', { handle })).status).toBe(403)
})

test('a save makes an immutable version, and restoring the first one makes a third', async () => {
  const { owner, handle } = await createPeople()
  await owner.create(handle)
  const second = buildContent({ name: 'Second helper', parameters: { temperature: 0.2 } })
  expect((await owner.call('save', { handle, content: second })).data).toEqual({
    handle,
    version: 2,
    isPublished: false,
  })
  expect((await owner.call('get', { handle })).data).toMatchObject({ name: 'Thesis helper', published: 1, latest: 2 })
  expect((await owner.call('save', { handle, content: second })).data).toMatchObject({ version: 2 })

  expect((await owner.call('restore', { handle, version: 1, publish: true })).data).toEqual({
    handle,
    version: 3,
    isPublished: true,
  })
  const read = async (version: number) => (await owner.call('version', { handle, version })).data
  expect(await read(3)).toEqual({ ...(await read(1)), version: 3 })
  expect(await read(2)).toMatchObject({ name: 'Second helper', parameters: { temperature: 0.2 } })
  expect(await owner.call('publish', { handle, version: 9 })).toMatchObject({ status: 404 })
})

test('instructions, greeting and starters are nowhere in clear in the database', async () => {
  const { svc, owner, handle } = await createPeople()
  const words = ['CANARYPROMPT', 'CANARYGREETING', 'CANARYSTARTER']
  const [systemPrompt, greeting, starter] = words
  await owner.create(handle, { systemPrompt, greeting, starters: [starter] })
  await owner.call('save', { handle, content: buildContent({ systemPrompt: `${systemPrompt} again` }) })

  const tables = await svc.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  for (const { name } of tables) {
    const [{ text = '' } = {}] = await svc.rows<{ text?: string }>(
      `select coalesce(string_agg(t::text, ' '), '') as text from "${name}" t`,
    )
    expect(
      words.filter((word) => text.includes(word)),
      name,
    ).toEqual([])
  }
  expect(svc.log.join('')).not.toContain('CANARYPROMPT')
})

test('an assistant is copied only if its owner allows that, as a private one', async () => {
  const { svc, owner, stranger, colleague, handle } = await createPeople()
  await owner.create(handle)
  await owner.shareWithAll(handle)
  const copy = { handle, newHandle: `${handle}-copy` }

  expect(await stranger.call('remix', copy)).toMatchObject({ status: 403, problem: 'not_permitted' })
  await owner.call('share', { handle, audience: 'all', allowRemix: true })
  await owner.call('save', { handle, content: buildContent({ systemPrompt: 'A draft.' }) })
  expect((await stranger.call('remix', copy)).data).toEqual({ handle: copy.newHandle, version: 1, isPublished: false })
  const { data } = await stranger.call('version', { handle: copy.newHandle, version: 1 })
  expect(data).toMatchObject({ systemPrompt: 'Answer as a librarian.', model: 'mock-1' })
  expect((await owner.call('get', { handle: copy.newHandle })).status).toBe(404)
  expect((await stranger.call('remix', copy)).problem).toBe('conflict')
  await owner.call('share', { handle, audience: 'private', allowRemix: true })
  expect(await colleague.call('remix', { handle, newHandle: `${handle}-other` })).toMatchObject({ status: 404 })
  expect((await callAssistants(svc, 'remix', copy)).problem).toBe('signed_out')
})

test('only its owner copies a draft, with its newest text', async () => {
  const { owner, colleague, stranger, handle } = await createPeople()
  await owner.call('create', { handle, content: buildContent() })
  await owner.call('save', { handle, content: buildContent({ systemPrompt: 'Newest.' }) })
  await owner.call('share', { handle, audience: 'all', editors: [colleague.username], allowRemix: true })
  const copy = (person: typeof owner) => person.call('remix', { handle, newHandle: `${handle}-${person.id}` })

  for (const person of [owner, colleague]) {
    expect((await copy(person)).data).toEqual({ handle: `${handle}-${person.id}`, version: 1, isPublished: false })
    const { data } = await person.call('version', { handle: `${handle}-${person.id}`, version: 1 })
    expect(data).toMatchObject({ systemPrompt: 'Newest.' })
  }
  expect(await copy(stranger)).toMatchObject({ status: 404, problem: 'not_found' })
})

test('a copy keeps the knowledge of whoever makes it, and none of others', async () => {
  const { svc, owner, colleague, handle } = await createPeople()
  const [row] = await svc.rows<{ id: number }>(
    "insert into knowledge (name, owner_id) values ('Rules', $1) returning id",
    [owner.id],
  )
  await owner.create(handle, { knowledge: row?.id })
  await owner.call('share', { handle, audience: 'private', editors: [colleague.username] })
  const readKnowledge = async (person: typeof owner) => {
    const newHandle = `${handle}-${person.id}`
    await person.call('remix', { handle, newHandle })
    return (await person.call('version', { handle: newHandle, version: 1 })).data.knowledge
  }

  expect([await readKnowledge(owner), await readKnowledge(colleague)]).toEqual([row?.id, null])
})

test('a taken handle is refused in the same words, whoever has it', async () => {
  const { svc, owner, stranger, handle } = await createPeople()
  await owner.create(handle)
  const refuse = async (taken: string, path = 'create', input: object = { handle: taken, content: buildContent() }) => {
    const response = await svc.send('POST', `/trpc/assistants.${path}`, { token: stranger.token, body: input })
    return (await response.text()).replaceAll(taken, 'HANDLE').replaceAll(/"requestId":"[^"]+"/g, '')
  }

  const ofAssistant = await refuse(handle)
  expect(ofAssistant).toContain("The handle 'HANDLE' is taken. Choose another one.")
  expect(await refuse(owner.username)).toBe(ofAssistant)
  expect(await refuse(svc.services.settings.aiHandle.replace(/^@/, '').toLowerCase())).toBe(ofAssistant)
})

test('wrong content and sharing are refused in the words of the caller', async () => {
  const { owner, handle } = await createPeople()
  await owner.create(handle)
  const save = (more: object) => owner.call('save', { handle, content: buildContent(more) })

  expect((await save({ model: 'no-model' })).issues).toEqual([
    { path: ['content', 'model'], message: 'is not a model that you may use' },
  ])
  expect((await save({ fallback: ['no-model'] })).issues?.[0]?.path).toEqual(['content', 'fallback', 0])
  expect((await save({ parameters: { temperature: 3 } })).issues?.[0]?.path).toEqual([
    'content',
    'parameters',
    'temperature',
  ])
  expect((await save({ name: 'Two\nlines' })).issues?.[0]).toMatchObject({ message: 'must be one line' })
  expect((await owner.call('create', { handle: 'No Handle', content: buildContent() })).issues?.[0]?.path).toEqual([
    'handle',
  ])
  expect(await owner.create(handle)).toMatchObject({ status: 409, problem: 'conflict' })
  const share = (more: object) => owner.call('share', { handle, ...more })
  expect((await share({ audience: 'groups' })).issues?.[0]).toMatchObject({ path: ['groups'] })
  expect((await share({ audience: 'private', editors: [owner.username] })).issues?.[0]?.message).toBe('is the owner')
  expect((await share({ audience: 'private', editors: ['nobody-here'] })).issues?.[0]?.path).toEqual(['editors', 0])
})

test('a person owns at most 200 assistants, and is told so by a code', async () => {
  const { svc, owner } = await createPeople()
  await svc.rows(
    `insert into assistants (handle, owner_id, created_at, updated_at)
      select 'many-' || $1::int || '-' || n, $1, now(), now() from generate_series(1, 200) n`,
    [owner.id],
  )

  expect(await owner.create(`more-${owner.id}`)).toMatchObject({ status: 422, problem: 'quota_reached' })
})

test('what people do with their assistants is in the audit log, without texts', async () => {
  const { svc, owner, handle } = await createPeople()
  await owner.create(handle)
  await owner.shareWithAll(handle)
  await owner.call('delete', { handle })

  const rows = await svc.rows<{ act: string; change: string }>(
    'select act, change from audit_entries where subject = $1 order by seq',
    [`assistants:${handle}`],
  )
  expect(rows.map(({ act }) => act)).toEqual(['assistants.create', 'assistants.share', 'assistants.delete'])
  expect(JSON.stringify(rows)).not.toContain('librarian')
  expect(JSON.parse(rows[1]?.change ?? '{}')).toMatchObject({ audience: { before: 'private', after: 'all' } })
})

test('erasing an owner gives assistants to the first editor, and deletes those without', async () => {
  const { svc, owner, colleague, stranger, handle } = await createPeople()
  const { data: knowledge } = await callKnowledge(svc, 'create', { name: 'Handbook' }, owner.token)
  await owner.create(handle, { knowledge: knowledge.id })
  await owner.create(`${handle}-alone`)
  await owner.call('share', { handle, audience: 'private', editors: [stranger.username, colleague.username] })
  const readVersion = async () => (await stranger.call('version', { handle, version: 1 })).data
  expect(await readVersion()).toMatchObject({ knowledge: knowledge.id, hasLostFiles: false })

  const { report } = await svc.host.admin.removeUser({ user: { id: owner.id } })

  expect(report).toMatchObject({ assistants: { deleted: 1, kept: 1 } })
  expect((await stranger.call('get', { handle })).data).toMatchObject({ isOwner: true, editors: [colleague.username] })
  expect((await stranger.call('versions', { handle })).data).toMatchObject([{ number: 1, author: null }])
  // The files were deleted with the person, and the heir is told.
  expect(await readVersion()).toMatchObject({ knowledge: null, hasLostFiles: true })
  const left = await svc.rows('select handle from assistants where handle like $1', [`${handle}%`])
  expect(left).toEqual([{ handle }])
})

test('an assistant whose owner has gone away loses their files, and says so', async () => {
  const { svc, owner, colleague, handle } = await createPeople()
  const { data: knowledge } = await callKnowledge(svc, 'create', { name: 'Handbook' }, owner.token)
  await owner.create(handle, { knowledge: knowledge.id })
  await owner.call('share', { handle, audience: 'private', editors: [colleague.username] })
  await owner.call('handOver', { handle, editor: colleague.username })
  const readVersion = async () => (await colleague.call('version', { handle, version: 1 })).data
  expect(await readVersion()).toMatchObject({ hasLostFiles: false })
  await owner.call('leave', { handle })

  expect(await readVersion()).toMatchObject({ knowledge: knowledge.id, hasLostFiles: true })
})
