import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { signIn } from '../../kit/browser.ts'
import { buildMessage, encodeText, messageNumbers, startConversations } from '../../kit/rooms/older-routes.ts'
import { shareResource } from '../../kit/share-resource.ts'

const conversations = shareResource(startConversations)

test("wrong input is refused by the front ends' names, and changes nothing", async () => {
  const { ada, begin, say, open } = conversations
  const slug = await begin()
  const send = (body: unknown) => ada.send('POST', `/req/conv/sendMessage/${slug}`, { body })
  const pointers = async (body: unknown) => {
    const { status, body: answer } = await send(body)
    return [status, ...(answer['errors'] as { source?: { pointer: string } }[]).map(({ source }) => source?.pointer)]
  }
  expect(await pointers({})).toEqual([422, '/isAi', '/content', '/completion', '/threadId'])
  expect(await pointers(buildMessage('', { content: {} }))).toEqual([422, '/content'])
  expect(await pointers(buildMessage('', { content: { text: { ...encodeText('a'), iv: 'no base64!' } } }))).toEqual([
    422,
    '/content/text',
  ])
  expect(await pointers(buildMessage('answer', { isAi: true }))).toEqual([422, '/model'])
  expect(await pointers(buildMessage('big', { metadata: { tools: 'x'.repeat(40_000) } }))).toEqual([422, '/metadata'])
  expect((await send(buildMessage('x'.repeat(400_000)))).status).toBe(413)
  const another = await begin()
  const message = await say(another, buildMessage('question'))
  const forged = { ...buildMessage('question', { isAi: true }), message_id: message.message_id }
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
  expect(messageNumbers(await open(slug))).toEqual([])
  expect((await open(randomUUID())).status).toBe(404)
})

test('nobody writes more than the limits allow', async () => {
  const { bob, begin, say } = conversations
  const slug = await begin(bob)
  const send = (message: string) => bob.send('POST', `/req/conv/sendMessage/${slug}`, { body: buildMessage(message) })
  expect((await send('x'.repeat(150_000))).status).toBe(200)
  expect((await send('x'.repeat(150_000))).status).toBe(200)
  expect(await send('x'.repeat(150_000))).toMatchObject({ status: 422, body: { message: /500000 bytes/ } })
  await bob.send('DELETE', `/req/conv/message/delete/${slug}`, { body: { message_id: '1.000' } })
  expect((await send('x'.repeat(150_000))).status).toBe(200)
  for (let n = 0; n < 28; n++) await say(slug, buildMessage('x'), bob)
  expect(await send('one more')).toMatchObject({
    status: 422,
    body: { message: 'A conversation has at most 30 messages.' },
  })
  const left = await bob.send('GET', '/req/conv?size=200')
  for (let n = (left.body['data'] as []).length; n < 40; n++) await begin(bob)
  const refused = await bob.send('POST', '/req/conv/createChat', { body: {} })
  const message = 'A person has at most 40 conversations.'
  expect(refused).toMatchObject({ status: 422, body: { message, errors: [{ code: 'quota_reached' }] } })
})

test('who has more than they may have can still have less', async () => {
  const { svc, begin } = conversations
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
