import { createHmac, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { answers } from '../../kit/ai/provider.ts'
import { createAiRoom, KEY, requestRoomAnswer, startRoomAi, waitForAnswer } from '../../kit/rooms/ai.ts'
import { PNG, sendAttachments, UNTIL_READ, upload } from '../../kit/rooms/attachments.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(startRoomAi)

const room = async (...roles: ('admin' | 'editor' | 'viewer')[]) => {
  app.provider.behave = answers('Good day.')
  return createAiRoom(app, roles)
}

describe('a file in a room', () => {
  const readable = async (uuid: unknown) => {
    const pending = () => app.svc.rows(`select from attachments where uuid = $1 and text_state = 'pending'`, [uuid])
    await expect.poll(async () => (await pending()).length, UNTIL_READ).toBe(0)
  }
  const file = async (
    { id, admin }: Pick<Awaited<ReturnType<typeof room>>, 'id' | 'admin'>,
    content: string | Buffer,
    fields = {},
  ) => {
    const { one } = await upload(app.svc, admin.token, content, { fields })
    await sendAttachments(admin, id, [one.id], { keyEpoch: 0 })
    await readable(one.attributes['uuid'])
    return one
  }
  const buildBody = (...parts: object[]) => ({ messages: [{ role: 'user', content: parts }] })
  const naming = (id: unknown, more: object = {}) => buildBody({ type: 'attachment', id, ...more })

  test('goes to the model by its id, and its hash to the disclosure record', async () => {
    const there = await room('editor')
    const picture = Buffer.concat([PNG, randomBytes(200_000)])
    const [{ id }, { id: seen }] = [await file(there, 'Plan of Ada.'), await file(there, picture)]
    const content = [id, seen].map((one) => ({ type: 'attachment', id: one }))

    expect((await requestRoomAnswer(there.editor, there.id, '', buildBody(...content))).status).toBe(200)

    const { parts } = await waitForAnswer(there.admin, there.id)
    const hashed = (bytes: string | Buffer) => ({
      bytes: bytes.length,
      hash: createHmac('sha256', Buffer.from(KEY, 'base64')).update(bytes).digest('base64url'),
    })
    const part = { role: 'user', message: null }
    expect(parts).toEqual([
      { ...part, attachment: id, kind: 'text/plain', ...hashed('Plan of Ada.') },
      { ...part, attachment: seen, kind: 'image/png', ...hashed(picture) },
    ])
    const sent = app.provider.requests.at(-1)?.sent
    for (const quoted of ['Plan of Ada.', picture.toString('base64')]) expect(sent).toContain(quoted)
  })

  test('of another room, or of nobody’s, is not there, whoever sees it', async () => {
    const [there, other] = [await room(), await room()]
    const elsewhere = await file({ ...other, admin: there.admin, id: other.id }, 'CANARY')
    const count = app.provider.requests.length

    const refused = await requestRoomAnswer(there.admin, there.id, '', naming(elsewhere.attributes['uuid']))
    expect([refused.status, refused.errors[0]?.source?.['pointer']]).toEqual([422, '/messages/0/content/0'])
    expect(app.provider.requests).toHaveLength(count)

    expect((await requestRoomAnswer(there.admin, there.id, '', naming(elsewhere.id, { optional: true }))).status).toBe(
      200,
    )
    expect((await waitForAnswer(there.admin, there.id)).parts).toMatchObject([
      { attachment: elsewhere.id, kind: 'name' },
    ])
    expect(JSON.stringify(app.provider.requests.at(-1)?.body)).toContain('A file is not there')
  })

  test('that a browser encrypted is readable only if a browser sends its content', async () => {
    const there = await room()
    const { id } = await file(there, 'ciphertext', { clientEncrypted: 'true' })
    const sent = { type: 'file', mime: 'text/plain', data: Buffer.from('In clear.').toString('base64'), name: 'a.txt' }

    expect((await requestRoomAnswer(there.admin, there.id, '', naming(id))).errors[0]?.detail).toContain(
      'encrypted by a browser',
    )
    expect((await requestRoomAnswer(there.admin, there.id, '', buildBody(sent))).status).toBe(200)

    expect((await waitForAnswer(there.admin, there.id)).parts).toMatchObject([{ kind: 'text/plain', bytes: 9 }])
    const prompt = JSON.stringify(app.provider.requests.at(-1)?.body)
    expect([prompt.includes('In clear.'), prompt.includes('ciphertext')]).toEqual([true, false])
  })
})
