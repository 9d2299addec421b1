import { expect, test } from 'vitest'
import type { TestApp } from '../../kit/app.ts'
import { signIn } from '../../kit/browser.ts'
import {
  buildMessage,
  encodeText,
  messageNumbers,
  startConversations,
  uploadFile,
} from '../../kit/rooms/older-routes.ts'
import { shareResource } from '../../kit/share-resource.ts'

const conversations = shareResource(startConversations)

test('files belong to their message, and an edit deletes those it omits', async () => {
  const { svc, ada, bob, begin, say, open } = conversations
  const slug = await begin()
  const [one, two] = [
    await uploadFile(svc, ada, '/req/conv/attachment/upload'),
    await uploadFile(svc, ada, '/req/conv/attachment/upload'),
  ]
  const theirs = await uploadFile(svc, bob, '/req/conv/attachment/upload')
  const stolen = await ada.send('POST', `/req/conv/sendMessage/${slug}`, {
    body: buildMessage('with', { content: { attachments: [theirs] } }),
  })
  expect(stolen).toMatchObject({ status: 404, body: { errors: [{ source: { pointer: '/content/attachments/0' } }] } })
  expect(messageNumbers(await open(slug))).toEqual([])

  const sent = await say(slug, buildMessage('', { content: { text: null, attachments: [one, two] } }))
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
    ...buildMessage('', { content: { text: encodeText('only one'), attachments: [one] } }),
    message_id: sent.message_id,
  }
  expect((await ada.send('POST', `/req/conv/updateMessage/${slug}`, { body: edit })).status).toBe(200)
  expect((await ada.send('GET', `/req/conv/attachment/getLink/${two}`)).status).toBe(404)

  const alone = await say(
    slug,
    buildMessage('', { content: { attachments: [await uploadFile(svc, ada, '/req/conv/attachment/upload')] } }),
  )
  const { uuid } = alone.content.attachments[0]?.fileData ?? {}
  expect((await ada.send('DELETE', '/req/conv/attachment/delete', { body: { fileId: uuid } })).status).toBe(200)
  expect(messageNumbers(await open(slug))).toEqual([sent.message_id])
  await ada.send('DELETE', `/req/conv/removeConv/${slug}`)
  expect(await filesOf(svc)).toEqual([theirs])
})

/** Lists the names of the stored files. */
async function filesOf({ services }: TestApp): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of services.files.attachments.list()) names.push(name)
  return names
}

test('programs read what front ends write, and an erased person leaves nothing', async () => {
  const { svc, begin, say } = conversations
  const dan = await signIn(svc, 'dan')
  const slug = await begin(dan.browser)
  const file = await uploadFile(svc, dan.browser, '/req/conv/attachment/upload')
  await say(slug, buildMessage('hello', { content: { text: encodeText('hello'), attachments: [file] } }), dan.browser)
  const program = async (name: string, input: object, token = dan.token) => {
    const answer = await svc.send('GET', `/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, { token })
    return (await answer.json()) as unknown
  }
  expect(await program('conversations.get', { slug })).toMatchObject({ result: { data: { slug, messageCount: 1 } } })
  expect(await program('conversations.messages', { slug })).toMatchObject({
    result: {
      data: {
        data: [
          { number: '1.000', content: `aXY=|dGFn|${encodeText('hello').ciphertext}`, attachments: [{ uuid: file }] },
        ],
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
