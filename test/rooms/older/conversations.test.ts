import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listConversations } from '../../../entities/rooms/conversation.sql.ts'
import { findConversationMessages } from '../../../entities/rooms/conversation-message.sql.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../../kit/browser.ts'
import { uploadTo } from '../../kit/rooms/older.ts'

const text = (said: string) => ({ ciphertext: Buffer.from(said).toString('base64'), iv: 'aXY=', tag: 'dGFn' })
const saying = (said: string, more: object = {}) => ({
  isAi: false,
  threadId: 0,
  content: { text: text(said) },
  completion: true,
  ...more,
})

interface Message {
  message_id: string
  message_role: string
  content: { text: { ciphertext: string }; attachments: { fileData: { uuid: string; url: string } }[] }
}
interface Opened {
  data: {
    id: number
    name: string
    slug: string
    system_prompt: string | null
    messages: Message[]
    next: string | null
  }
}

let svc: TestApp
let ada: TestBrowser
let bob: TestBrowser
let adaId: number
beforeAll(async () => {
  svc = await startApp({
    CONVERSATIONS_PER_PERSON: '40',
    CONVERSATION_MAX_MESSAGES: '30',
    CONVERSATION_QUOTA: '500000',
  })
  const signedIn = await signIn(svc, 'ada')
  ada = signedIn.browser
  adaId = signedIn.id
  bob = (await signIn(svc, 'bob')).browser
})
afterAll(() => svc[Symbol.asyncDispose]())

async function begin(by = ada, settings: object = {}): Promise<string> {
  const { status, text, body } = await by.send('POST', '/req/conv/createChat', { body: settings })
  if (status !== 201) throw new Error(text)
  return (body['conv'] as { slug: string }).slug
}

async function say(slug: string, message: object, by = ada): Promise<Message> {
  const { status, text, body } = await by.send('POST', `/req/conv/sendMessage/${slug}`, { body: message })
  if (status !== 200) throw new Error(text)
  return body['messageData'] as Message
}

const open = async (slug: string, query = '', by = ada) => {
  const { status, body } = await by.send('GET', `/req/conv/${slug}${query}`)
  return { status, ...(body as unknown as Opened) }
}

const numbers = ({ data }: Opened) => data.messages.map(({ message_id }) => message_id)

test('a conversation is made without a name, written in, edited and deleted by the routes that front ends know', async () => {
  const made = await ada.send('POST', '/req/conv/createChat', { body: { conv_name: null, system_prompt: null } })
  expect(made).toMatchObject({
    status: 201,
    body: { success: true, conv: { conv_name: 'New Chat', user_id: adaId, system_prompt: null } },
  })
  const { slug } = made.body['conv'] as { slug: string }
  expect(slug).toMatch(/^[a-z0-9]{16}$/)

  const asked = await say(slug, saying('question'))
  const metadata = { tools: { web: true }, params: { temp: 0.7 }, citations: null }
  const answered = await say(slug, saying('answer', { isAi: true, model: 'demo', metadata }))
  expect(asked).toEqual({
    message_role: 'user',
    message_id: '1.000',
    author: { username: 'ada', name: 'The ada', avatar_url: `/req/profile/picture/${adaId}` },
    model: null,
    content: { text: text('question'), attachments: [] },
    metadata: { tools: null, params: null, citations: null },
    completion: true,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d\+\d\d:\d\d$/),
    updated_at: expect.any(String),
  })
  expect(answered).toMatchObject({ message_role: 'assistant', message_id: '2.000', model: 'demo', metadata })

  const edit = { ...saying('better'), message_id: '1.000' }
  const edited = await ada.send('POST', `/req/conv/updateMessage/${slug}`, { body: edit })
  expect(edited).toMatchObject({
    status: 200,
    body: {
      messageData: { message_id: '1.000', content: text('better').ciphertext, iv: 'aXY=', user_id: adaId },
      legacyResource: { content: { text: text('better') } },
    },
  })
  await ada.send('POST', `/req/conv/updateInfo/${slug}`, {
    body: { conv_name: 'Chess', system_prompt: '{"iv":"aXY="}' },
  })
  expect((await open(slug)).data).toMatchObject({ name: 'Chess', slug, system_prompt: '{"iv":"aXY="}' })
  await ada.send('POST', `/req/conv/updateInfo/${slug}`, { body: { conv_name: '', system_prompt: '' } })
  expect((await open(slug)).data).toMatchObject({ name: 'Chess', system_prompt: null })

  const remove = () => ada.send('DELETE', `/req/conv/message/delete/${slug}`, { body: { message_id: '2.000' } })
  expect([(await remove()).status, (await remove()).status]).toEqual([200, 404])
  expect(await say(slug, saying('next'))).toMatchObject({ message_id: '3.000' })

  // Front ends announce JSON where they send nothing.
  expect((await ada.send('DELETE', `/req/conv/removeConv/${slug}`, { body: '' })).status).toBe(200)
  expect((await open(slug)).status).toBe(404)
})

test('a reply has the next number of its thread, and twenty at once have twenty numbers without a hole', async () => {
  const slug = await begin()
  await say(slug, saying('first'))
  await Promise.all(Array.from({ length: 20 }, (_, n) => say(slug, saying(`reply ${n}`, { threadId: n % 2 }))))

  const counted = (first: number, last: number, of: (n: number) => string) =>
    Array.from({ length: last - first + 1 }, (_, n) => of(n + first))
  const replies = counted(1, 10, (n) => `1.${String(n).padStart(3, '0')}`)
  expect(numbers(await open(slug))).toEqual(['1.000', ...replies, ...counted(2, 11, (n) => `${n}.000`)])
  const lost = await ada.send('POST', `/req/conv/sendMessage/${slug}`, { body: saying('lost', { threadId: 12 }) })
  expect(lost).toMatchObject({ status: 404, body: { errors: [{ source: { pointer: '/threadId' } }] } })
})

test('another person and a guest find no conversation, whatever they ask of it', async () => {
  const slug = await begin()
  await say(slug, saying('secret'))
  const guest = openBrowser(svc.url)
  const routes: [string, string, object?][] = [
    ['GET', `/req/conv/${slug}`],
    ['POST', `/req/conv/updateInfo/${slug}`, { conv_name: 'Mine' }],
    ['POST', `/req/conv/sendMessage/${slug}`, saying('hello')],
    ['POST', `/req/conv/updateMessage/${slug}`, { ...saying('hello'), message_id: '1.000' }],
    ['DELETE', `/req/conv/message/delete/${slug}`, { message_id: '1.000' }],
    ['DELETE', `/req/conv/removeConv/${slug}`],
  ]
  for (const [method, path, body] of routes) {
    const statuses = [bob, guest].map(async (by) => (await by.send(method, path, { body })).status)
    expect([path, ...(await Promise.all(statuses))]).toEqual([path, 404, 401])
  }
  expect((await bob.send('GET', '/req/conv')).body).toMatchObject({ success: true, data: [], next: null })
  expect((await guest.send('GET', '/req/conv')).status).toBe(401)
  const forged = await ada.send('DELETE', `/req/conv/removeConv/${slug}`, {
    headers: { origin: 'https://evil.example' },
  })
  expect(forged).toMatchObject({ status: 403, body: { errors: [{ code: 'csrf' }] } })
  expect(numbers(await open(slug))).toEqual(['1.000'])
})

test('the list and the messages come in parts, which together are the whole', async () => {
  const slugs: string[] = []
  for (let n = 0; n < 5; n++) slugs.unshift(await begin(ada, { conv_name: `List ${n}` }))
  const listed: string[] = []
  let after = ''
  do {
    const { body } = await ada.send('GET', `/req/conv?size=2${after}`)
    listed.push(...(body['data'] as { slug: string }[]).map(({ slug }) => slug))
    after = body['next'] ? `&after=${body['next']}` : ''
  } while (after && listed.length < 100)
  expect(listed.slice(0, 5)).toEqual(slugs)
  expect(new Set(listed).size).toBe(listed.length)
  expect((await ada.send('GET', '/req/conv?after=1-9999999999')).body).toMatchObject({ data: [], next: null })

  const [slug = ''] = slugs
  for (let n = 0; n < 5; n++) await say(slug, saying(`message ${n}`, { threadId: n === 4 ? 2 : 0 }))
  const last = await open(slug, '?size=3')
  const before = await open(slug, `?size=3&before=${last.data.next}`)
  expect([numbers(before), before.data.next, numbers(last)]).toEqual([
    ['1.000', '2.000'],
    null,
    ['2.001', '3.000', '4.000'],
  ])
  expect(numbers(await open(slug))).toEqual([...numbers(before), ...numbers(last)])
})

test('files belong to their message: those that an edit leaves out go, and nobody else reads them', async () => {
  const slug = await begin()
  const [one, two] = [
    await uploadTo(svc, ada, '/req/conv/attachment/upload'),
    await uploadTo(svc, ada, '/req/conv/attachment/upload'),
  ]
  const theirs = await uploadTo(svc, bob, '/req/conv/attachment/upload')
  const stolen = await ada.send('POST', `/req/conv/sendMessage/${slug}`, {
    body: saying('with', { content: { attachments: [theirs] } }),
  })
  expect(stolen).toMatchObject({ status: 404, body: { errors: [{ source: { pointer: '/content/attachments/0' } }] } })
  expect(numbers(await open(slug))).toEqual([])

  const sent = await say(slug, saying('', { content: { text: null, attachments: [one, two] } }))
  const [file] = sent.content.attachments
  expect(file?.fileData).toMatchObject({ uuid: one, name: 'notes.txt', category: 'private', type: 'document' })
  const url = file?.fileData.url ?? ''
  expect((await ada.send('GET', `/req/conv/attachment/getLink/${one}`)).body).toEqual({ success: true, url })
  expect(await ada.send('GET', url)).toMatchObject({ status: 200, text: 'Hello' })
  expect([
    (await bob.send('GET', url)).status,
    (await bob.send('GET', `/req/conv/attachment/getLink/${one}`)).status,
  ]).toEqual([404, 404])

  const edit = {
    ...saying('', { content: { text: text('only one'), attachments: [one] } }),
    message_id: sent.message_id,
  }
  expect((await ada.send('POST', `/req/conv/updateMessage/${slug}`, { body: edit })).status).toBe(200)
  expect((await ada.send('GET', `/req/conv/attachment/getLink/${two}`)).status).toBe(404)

  const alone = await say(
    slug,
    saying('', { content: { attachments: [await uploadTo(svc, ada, '/req/conv/attachment/upload')] } }),
  )
  const { uuid } = alone.content.attachments[0]?.fileData ?? {}
  expect((await ada.send('DELETE', '/req/conv/attachment/delete', { body: { fileId: uuid } })).status).toBe(200)
  expect(numbers(await open(slug))).toEqual([sent.message_id])
  await ada.send('DELETE', `/req/conv/removeConv/${slug}`)
  expect(await filesOf(svc)).toEqual([theirs])
})

/** The names of the files that are on the disk. */
async function filesOf({ services }: TestApp): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of services.files.list()) names.push(name)
  return names
}

test('input that is wrong is told by the names that front ends use, and changes nothing', async () => {
  const slug = await begin()
  const send = (body: unknown) => ada.send('POST', `/req/conv/sendMessage/${slug}`, { body })
  const pointers = async (body: unknown) => {
    const { status, body: answer } = await send(body)
    return [status, ...(answer['errors'] as { source?: { pointer: string } }[]).map(({ source }) => source?.pointer)]
  }
  expect(await pointers({})).toEqual([422, '/isAi', '/content', '/completion', '/threadId'])
  expect(await pointers(saying('', { content: {} }))).toEqual([422, '/content'])
  expect(await pointers(saying('', { content: { text: { ...text('a'), iv: 'no base64!' } } }))).toEqual([
    422,
    '/content/text',
  ])
  expect(await pointers(saying('answer', { isAi: true }))).toEqual([422, '/model'])
  expect(await pointers(saying('big', { metadata: { tools: 'x'.repeat(40_000) } }))).toEqual([422, '/metadata'])
  expect((await send(saying('x'.repeat(400_000)))).status).toBe(413)
  const another = await begin()
  const said = await say(another, saying('question'))
  const forged = { ...saying('question', { isAi: true }), message_id: said.message_id }
  expect(await ada.send('POST', `/req/conv/updateMessage/${another}`, { body: forged })).toMatchObject({
    status: 422,
    body: { errors: [{ source: { pointer: '/model' } }] },
  })
  const long = { body: { conv_name: 'x'.repeat(256) } }
  expect(await ada.send('POST', '/req/conv/createChat', long)).toMatchObject({
    status: 422,
    body: { success: false, errors: [{ status: '422', code: 'invalid', source: { pointer: '/conv_name' } }] },
  })
  expect(await ada.send('GET', `/req/conv/${slug}?size=9999`)).toMatchObject({
    status: 422,
    body: { errors: [{ source: { pointer: '/size' } }] },
  })
  expect(numbers(await open(slug))).toEqual([])
  expect((await open(randomUUID())).status).toBe(404)
})

test('nobody writes more than the limits allow', async () => {
  const slug = await begin(bob)
  const send = (said: string) => bob.send('POST', `/req/conv/sendMessage/${slug}`, { body: saying(said) })
  expect((await send('x'.repeat(150_000))).status).toBe(200)
  expect((await send('x'.repeat(150_000))).status).toBe(200)
  expect(await send('x'.repeat(150_000))).toMatchObject({ status: 422, body: { message: /500000 bytes/ } })
  await bob.send('DELETE', `/req/conv/message/delete/${slug}`, { body: { message_id: '1.000' } })
  expect((await send('x'.repeat(150_000))).status).toBe(200)
  for (let n = 0; n < 28; n++) await say(slug, saying('x'), bob)
  expect(await send('one more')).toMatchObject({
    status: 422,
    body: { message: 'A conversation has at most 30 messages.' },
  })
  const left = await bob.send('GET', '/req/conv?size=200')
  for (let n = (left.body['data'] as []).length; n < 40; n++) await begin(bob)
  const refused = await bob.send('POST', '/req/conv/createChat', { body: {} })
  expect(refused).toMatchObject({ status: 422, body: { message: 'A person has at most 40 conversations.' } })
})

test('who has more than they may have can still have less', async () => {
  const { browser: gus, id } = await signIn(svc, 'gus')
  const prompt = (length: number) => ({ system_prompt: JSON.stringify({ iv: 'x'.repeat(length) }) })
  const slug = await begin(gus, prompt(2000))
  const change = async (body: object) => (await gus.send('POST', `/req/conv/updateInfo/${slug}`, { body })).status
  await svc.rows(`update conversations set bytes = 600000 where user_id = $1`, [id])
  await svc.rows(
    `insert into conversations (user_id, slug, name) select $1, 'other ' || n, 'n' from generate_series(1, 45) n`,
    [id],
  )

  expect([await change(prompt(3000)), await change(prompt(1000)), await change({ conv_name: 'Less' })]).toEqual([
    422, 200, 200,
  ])
  expect((await gus.send('POST', '/req/conv/createChat', { body: {} })).status).toBe(422)
})

/** What somebody sees of their conversations, by the names that the change log has. */
async function sightOf(by: TestBrowser) {
  const sight = new Map<string, string>()
  const { body } = await by.send('GET', '/req/conv?size=200')
  for (const conversation of body['data'] as { slug: string }[]) {
    const { data } = await open(conversation.slug, '', by)
    const { messages, ...own } = data
    sight.set(`conversations ${own.slug}`, JSON.stringify(own))
    for (const message of messages)
      sight.set(`conversation-messages ${own.slug}/${message.message_id}`, JSON.stringify(message))
  }
  return sight
}

test('every change stands in the stream of its owner and of nobody else', async () => {
  const { browser: eve } = await signIn(svc, 'eve')
  const changesSince = async (by: TestBrowser, after?: string) => {
    const { body } = await by.send('GET', `/api/svc/v1/users/me/actions/changes${after ? `?page[after]=${after}` : ''}`)
    return body['meta'] as { position: string; changes: { kind: string; subject: string }[] }
  }
  const upload = () => uploadTo(svc, eve, '/req/conv/attachment/upload')
  const slug = await begin(eve)
  const [bare, held] = [await upload(), await upload()]
  const first = await say(slug, saying('first'), eve)
  await say(slug, saying('', { content: { attachments: [bare] } }), eve)
  await say(slug, saying('held', { content: { text: text('held'), attachments: [held] } }), eve)

  const edit = { ...saying('edited'), message_id: first.message_id }
  const ways: [string, string, unknown?][] = [
    ['POST', '/req/conv/createChat', {}],
    ['POST', `/req/conv/updateInfo/${slug}`, { conv_name: 'Go' }],
    ['POST', `/req/conv/sendMessage/${slug}`, saying('next')],
    ['POST', `/req/conv/sendMessage/${slug}`, saying('reply', { threadId: 1 })],
    ['POST', `/req/conv/updateMessage/${slug}`, edit],
    ['DELETE', '/req/conv/attachment/delete', { fileId: bare }],
    ['DELETE', '/req/conv/attachment/delete', { fileId: held }],
    ['DELETE', `/req/conv/message/delete/${slug}`, { message_id: first.message_id }],
    ['DELETE', `/req/conv/removeConv/${slug}`],
  ]
  for (const [method, path, body] of ways) {
    const [before, own, other] = [await sightOf(eve), await changesSince(eve), await changesSince(bob)]
    const { status, text: said } = await eve.send(method, path, { body })
    expect([path, status < 300 ? '' : said]).toEqual([path, ''])
    const after = await sightOf(eve)
    const { changes } = await changesSince(eve, own.position)
    const told = new Set(changes.map(({ kind, subject }) => `${kind.split('.')[0]} ${subject}`))
    const isGone = told.has(`conversations ${slug}`) && !after.has(`conversations ${slug}`)
    const differing = [...new Set([...before.keys(), ...after.keys()])].filter(
      (name) => before.get(name) !== after.get(name),
    )
    expect([path, differing.filter((name) => !told.has(name) && !(isGone && name.includes(slug)))]).toEqual([path, []])
    expect([path, differing.length > 0]).toEqual([path, true])
    expect((await changesSince(bob, other.position)).changes).toEqual([])
  }
})

test('programs read what front ends write, and an erased person leaves nothing', async () => {
  const dan = await signIn(svc, 'dan')
  const slug = await begin(dan.browser)
  const file = await uploadTo(svc, dan.browser, '/req/conv/attachment/upload')
  await say(slug, saying('hello', { content: { text: text('hello'), attachments: [file] } }), dan.browser)
  const program = async (name: string, input: object, token = dan.token) => {
    const answer = await svc.send('GET', `/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, { token })
    return (await answer.json()) as unknown
  }
  expect(await program('conversations.get', { slug })).toMatchObject({ result: { data: { slug, messageCount: 1 } } })
  expect(await program('conversations.messages', { slug })).toMatchObject({
    result: {
      data: {
        data: [{ number: '1.000', content: `aXY=|dGFn|${text('hello').ciphertext}`, attachments: [{ uuid: file }] }],
        meta: { next: null },
      },
    },
  })
  const admin = await svc.user({ role: 'admin', abilities: ['read', 'write'] })
  expect(await program('conversations.messages', { slug }, admin.token)).toMatchObject({
    error: { data: { code: 'NOT_FOUND' } },
  })

  expect(await filesOf(svc)).toContain(file)
  await svc.host.admin.removeUser({ user: { username: 'dan' } })
  expect(await filesOf(svc)).not.toContain(file)
  const left = `select 1 from conversations where slug = $1 union all
    select 1 from conversation_messages m where not exists (select from conversations c where c.id = m.conversation_id)`
  expect(await svc.rows(left, [slug])).toEqual([])
})

test('a part of a long conversation, and of many, is read by an index', async () => {
  const slug = await begin()
  await svc.rows(
    `insert into conversations (user_id, slug, name) select $1, 's' || n, 'S' from generate_series(1, 5000) n`,
    [adaId],
  )
  await svc.rows(
    `insert into conversation_messages (conversation_id, seq, role, content, is_complete, bytes)
     select c.id, n, 'user', 'aXY=|dGFn|eA==', true, 12 from conversations c, generate_series(1, 20000) n where c.slug = $1`,
    [slug],
  )
  await svc.rows('analyze conversations, conversation_messages')
  const planOf = async ({ text }: { text: string }, values: unknown[]) =>
    (await svc.rows<{ 'QUERY PLAN': string }>(`explain ${text}`, values)).map((line) => line['QUERY PLAN']).join('\n')
  const { data } = await open(slug)
  const part = await planOf(findConversationMessages, [data.id, 2_147_483_647, 0, 51, 1_000_000])
  expect(part).toContain('Index Scan Backward using conversation_messages_conversation_id_seq_sub_seq_unique')
  expect(part).not.toContain('Seq Scan on conversation_messages')
  expect(await planOf(listConversations, [adaId, 8e15, 2_147_483_647, 51])).toContain(
    'Index Scan Backward using conversations_user_id_updated_at_id_index',
  )
  expect([data.messages.length, data.next]).toEqual([1000, '19001.000'])
})
