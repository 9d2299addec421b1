import { expect, test } from 'vitest'
import { listConversations } from '../../../entities/rooms/conversation.sql.ts'
import { findConversationMessages } from '../../../entities/rooms/conversation-message.sql.ts'
import { openBrowser, signIn, type TestBrowser } from '../../kit/browser.ts'
import { newName } from '../../kit/identity/people.ts'
import {
  buildMessage,
  encodeText,
  messageNumbers,
  startConversations,
  uploadFile,
} from '../../kit/rooms/older-routes.ts'
import { shareResource } from '../../kit/share-resource.ts'

const conversations = shareResource(startConversations)

test('a conversation is created, written, edited and deleted by the older routes', async () => {
  const { ada, adaId, say, open } = conversations
  const made = await ada.send('POST', '/req/conv/createChat', { body: { conv_name: null, system_prompt: null } })
  expect(made).toMatchObject({
    status: 201,
    body: { success: true, conv: { conv_name: 'New Chat', user_id: adaId, system_prompt: null } },
  })
  const { slug } = made.body['conv'] as { slug: string }
  expect(slug).toMatch(/^[a-z0-9]{16}$/)

  const message = await say(slug, buildMessage('question'))
  const metadata = { tools: { web: true }, params: { temp: 0.7 }, citations: null }
  const answered = await say(slug, buildMessage('answer', { isAi: true, model: 'demo', metadata }))
  expect(message).toEqual({
    message_role: 'user',
    message_id: '1.000',
    author: { username: 'ada', name: 'The ada', avatar_url: null },
    model: null,
    content: { text: encodeText('question'), attachments: [] },
    metadata: { tools: null, params: null, citations: null },
    completion: true,
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\d\+\d\d:\d\d$/),
    updated_at: expect.any(String),
  })
  expect(answered).toMatchObject({ message_role: 'assistant', message_id: '2.000', model: 'demo', metadata })

  const edit = { ...buildMessage('better'), message_id: '1.000' }
  const edited = await ada.send('POST', `/req/conv/updateMessage/${slug}`, { body: edit })
  expect(edited).toMatchObject({
    status: 200,
    body: {
      messageData: { message_id: '1.000', content: encodeText('better').ciphertext, iv: 'aXY=', user_id: adaId },
      legacyResource: { content: { text: encodeText('better') } },
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
  expect(await say(slug, buildMessage('next'))).toMatchObject({ message_id: '3.000' })

  // Front ends send a JSON content type even without a body.
  expect((await ada.send('DELETE', `/req/conv/removeConv/${slug}`, { body: '' })).status).toBe(200)
  expect((await open(slug)).status).toBe(404)
})

test('replies are numbered in their thread without gaps, also twenty concurrent ones', async () => {
  const { ada, begin, say, open } = conversations
  const slug = await begin()
  await say(slug, buildMessage('first'))
  await Promise.all(Array.from({ length: 20 }, (_, n) => say(slug, buildMessage(`reply ${n}`, { threadId: n % 2 }))))

  const counted = (first: number, last: number, of: (n: number) => string) =>
    Array.from({ length: last - first + 1 }, (_, n) => of(n + first))
  const replies = counted(1, 10, (n) => `1.${String(n).padStart(3, '0')}`)
  expect(messageNumbers(await open(slug))).toEqual(['1.000', ...replies, ...counted(2, 11, (n) => `${n}.000`)])
  const lost = await ada.send('POST', `/req/conv/sendMessage/${slug}`, { body: buildMessage('lost', { threadId: 12 }) })
  expect(lost).toMatchObject({ status: 404, body: { errors: [{ source: { pointer: '/threadId' } }] } })
})

test('another person and a guest find no conversation, whatever they ask of it', async () => {
  const { svc, ada, bob, begin, say, open } = conversations
  const slug = await begin()
  await say(slug, buildMessage('secret'))
  const guest = openBrowser(svc.url)
  const routes: [string, string, object?][] = [
    ['GET', `/req/conv/${slug}`],
    ['POST', `/req/conv/updateInfo/${slug}`, { conv_name: 'Mine' }],
    ['POST', `/req/conv/sendMessage/${slug}`, buildMessage('hello')],
    ['POST', `/req/conv/updateMessage/${slug}`, { ...buildMessage('hello'), message_id: '1.000' }],
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
  expect(messageNumbers(await open(slug))).toEqual(['1.000'])
})

test('the list and the messages come in parts, which together are the whole', async () => {
  const { ada, begin, say, open } = conversations
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
  for (let n = 0; n < 5; n++) await say(slug, buildMessage(`message ${n}`, { threadId: n === 4 ? 2 : 0 }))
  const last = await open(slug, '?size=3')
  const before = await open(slug, `?size=3&before=${last.data.next}`)
  expect([messageNumbers(before), before.data.next, messageNumbers(last)]).toEqual([
    ['1.000', '2.000'],
    null,
    ['2.001', '3.000', '4.000'],
  ])
  expect(messageNumbers(await open(slug))).toEqual([...messageNumbers(before), ...messageNumbers(last)])
})

/** The conversations as a person sees them, by the names of the change log. */
async function sightOf(by: TestBrowser) {
  const sight = new Map<string, string>()
  const { body } = await by.send('GET', '/req/conv?size=200')
  for (const conversation of body['data'] as { slug: string }[]) {
    const { data } = await conversations.open(conversation.slug, '', by)
    const { messages, ...own } = data
    sight.set(`conversations ${own.slug}`, JSON.stringify(own))
    for (const message of messages)
      sight.set(`conversation-messages ${own.slug}/${message.message_id}`, JSON.stringify(message))
  }
  return sight
}

test('every change stands in the stream of its owner and of nobody else', async () => {
  const { svc, bob, begin, say } = conversations
  const { browser: eve } = await signIn(svc, 'eve')
  const changesSince = async (by: TestBrowser, after?: string) => {
    const { body } = await by.send('GET', `/api/svc/v1/users/me/actions/changes${after ? `?page[after]=${after}` : ''}`)
    return body['meta'] as { position: string; changes: { kind: string; subject: string }[] }
  }
  const upload = () => uploadFile(svc, eve, '/req/conv/attachment/upload')
  const slug = await begin(eve)
  const [bare, held] = [await upload(), await upload()]
  const first = await say(slug, buildMessage('first'), eve)
  await say(slug, buildMessage('', { content: { attachments: [bare] } }), eve)
  await say(slug, buildMessage('held', { content: { text: encodeText('held'), attachments: [held] } }), eve)

  const edit = { ...buildMessage('edited'), message_id: first.message_id }
  const ways: [string, string, unknown?][] = [
    ['POST', '/req/conv/createChat', {}],
    ['POST', `/req/conv/updateInfo/${slug}`, { conv_name: 'Go' }],
    ['POST', `/req/conv/sendMessage/${slug}`, buildMessage('next')],
    ['POST', `/req/conv/sendMessage/${slug}`, buildMessage('reply', { threadId: 1 })],
    ['POST', `/req/conv/updateMessage/${slug}`, edit],
    ['DELETE', '/req/conv/attachment/delete', { fileId: bare }],
    ['DELETE', '/req/conv/attachment/delete', { fileId: held }],
    ['DELETE', `/req/conv/message/delete/${slug}`, { message_id: first.message_id }],
    ['DELETE', `/req/conv/removeConv/${slug}`],
  ]
  for (const [method, path, body] of ways) {
    const [before, own, other] = [await sightOf(eve), await changesSince(eve), await changesSince(bob)]
    const { status, text: answer } = await eve.send(method, path, { body })
    expect([path, status < 300 ? '' : answer]).toEqual([path, ''])
    const after = await sightOf(eve)
    const { changes } = await changesSince(eve, own.position)
    const changed = new Set(changes.map(({ kind, subject }) => `${kind.split('.')[0]} ${subject}`))
    const isGone = changed.has(`conversations ${slug}`) && !after.has(`conversations ${slug}`)
    const differing = [...new Set([...before.keys(), ...after.keys()])].filter(
      (name) => before.get(name) !== after.get(name),
    )
    expect([path, differing.filter((name) => !changed.has(name) && !(isGone && name.includes(slug)))]).toEqual([
      path,
      [],
    ])
    expect([path, differing.length > 0]).toEqual([path, true])
    expect((await changesSince(bob, other.position)).changes).toEqual([])
  }
})

test('a part of a long conversation, and of many, is read by an index', async () => {
  const { svc, begin, open } = conversations
  const { browser: eve, id: eveId } = await signIn(svc, newName('eve'))
  const slug = await begin(eve)
  await svc.rows(
    `insert into conversations (user_id, slug, name) select $1, 's' || n, 'S' from generate_series(1, 5000) n`,
    [eveId],
  )
  await svc.rows(
    `insert into conversation_messages (conversation_id, seq, role, content, is_complete, bytes)
     select c.id, n, 'user', 'aXY=|dGFn|eA==', true, 12 from conversations c, generate_series(1, 20000) n where c.slug = $1`,
    [slug],
  )
  await svc.rows('analyze conversations, conversation_messages')
  const explainPlan = async ({ text }: { text: string }, values: unknown[]) =>
    (await svc.rows<{ 'QUERY PLAN': string }>(`explain ${text}`, values)).map((line) => line['QUERY PLAN']).join('\n')
  const { data } = await open(slug, '', eve)
  const part = await explainPlan(findConversationMessages, [data.id, 2_147_483_647, 0, 51, 1_000_000])
  expect(part).toContain('Index Scan Backward using conversation_messages_conversation_id_seq_sub_seq_unique')
  expect(part).not.toContain('Seq Scan on conversation_messages')
  expect(
    await explainPlan(listConversations, [eveId, 8e15, 2_147_483_647, 51, null, null, null, null, null]),
  ).toContain('Index Scan Backward using conversations_user_id_updated_at_id_index')
  expect([data.messages.length, data.next]).toEqual([1000, '19001.000'])
})
