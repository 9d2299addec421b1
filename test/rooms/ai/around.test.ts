import { expect, test, vi } from 'vitest'
import { answers, type Behaviour, breaksOff, canary, refuses, repeats, stalls } from '../../kit/ai/provider.ts'
import { openBrowser, signIn } from '../../kit/browser.ts'
import { openSocket, subscribe } from '../../kit/realtime/socket.ts'
import {
  createAiRoom,
  KEY,
  listDisclosures,
  openContent,
  type RoomAiApp,
  requestRoomAnswer,
  startRoomAi,
  waitForAnswer,
} from '../../kit/rooms/ai.ts'
import { SLOW } from '../../kit/service-client.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(() =>
  startRoomAi({
    AI_MENTION_HANDLE: '@helper',
  }),
)

const PROMPT = 'CANARY-PROMPT'
const ANSWER = 'CANARY-ANSWER'

/** Every row of every table, as text. */
async function dump(): Promise<string> {
  const { svc } = app
  const tables = await svc.rows<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
  )
  const rows = await Promise.all(tables.map(({ name }) => svc.rows(`select t::text from ${name} t`)))
  return JSON.stringify(rows)
}

test('disclosed text, key and answer appear in neither the database nor the log', async () => {
  app.provider.behave = answers(ANSWER)
  const { id, admin } = await createAiRoom(app)
  const key = Buffer.from('CANARY-KEY-CANARY-KEY-CANARY-KEY').toString('base64')

  await requestRoomAnswer(admin, id, PROMPT, { key })
  const { answer } = await waitForAnswer(admin, id)
  expect((await requestRoomAnswer(admin, id, PROMPT, { key, thread: '999999' })).text).not.toMatch(PROMPT)
  expect((await requestRoomAnswer(admin, id, PROMPT, { key: `${key}${PROMPT}` })).text).not.toContain(key)
  await app.svc.services.ai.usageLedger.flush()

  const { attributes } = (await admin.get(`/room-messages/${answer}`)).one
  expect(await openContent(attributes['content'], key)).toEqual({ text: ANSWER })
  const kept = (await dump()) + app.svc.log.join('')
  expect(kept.includes(String(attributes['content']))).toBe(true)
  for (const word of [PROMPT, ANSWER, 'CANARY-KEY', key]) expect(kept.includes(word)).toBe(false)
})

const inQuotes: Behaviour = (request, response) => {
  const [{ content = '' } = {}] = request.body.messages
  return breaksOff('error', `${canary} ${content} ${ANSWER}`)(request, response)
}

test.each<[string, Behaviour, string, string | null]>([
  [
    'that its provider refuses, quoting it',
    (request, response) => refuses(400, JSON.stringify(request.body))(request, response),
    'failed',
    'provider_failed',
  ],
  ['that its provider ends in the middle, quoting it', inQuotes, 'failed', 'provider_broke_off'],
  ['that breaks off', breaksOff('reset'), 'failed', 'provider_broke_off'],
  ['that ends where a limit does', repeats(ANSWER.repeat(4)), 'failed', 'limit_reached'],
  ['that is cancelled', repeats(ANSWER), 'cancelled', null],
  ['of which the process is lost', repeats(ANSWER), 'lost', 'unavailable'],
])('nothing of it is in the database or the log after an answer %s', async (how, behave, state, error) => {
  const key = Buffer.from('CANARY-KEY-CANARY-KEY-CANARY-KEY').toString('base64')
  const { id, admin, path } = await createAiRoom(app)
  const file = { type: 'file', mime: 'text/plain', data: Buffer.from(PROMPT).toString('base64'), name: PROMPT }
  const messages = [{ role: 'user', content: [{ type: 'text', text: PROMPT }, file] }]
  const isCut = how.includes('limit')
  const limit = { name: 'cut', for: 'room', cap: 100_000, unit: 'tokens', per: 'month', mode: 'enforce' } as const
  if (isCut) await app.svc.host.limits.set(limit)
  app.provider.behave = behave

  const { meta } = await requestRoomAnswer(admin, id, '', {
    messages,
    key,
    ...(isCut && { parameters: { maxTokens: 3 } }),
  })
  if (state === 'cancelled') await admin.post(`${path}/cancel-answer`, { disclosure: meta['disclosure'] })
  if (state === 'lost') await vi.waitFor(() => lose(app.svc, String(meta['disclosure'])), SLOW)
  const disclosure = await waitForAnswer(admin, id)
  if (isCut) await app.svc.host.limits.remove({ name: 'cut' })

  expect(disclosure).toMatchObject({ state, error, answer: null })
  await vi.waitFor(() => app.svc.services.ai.usageLedger.flush(), SLOW)
  const kept = (await dump()) + app.svc.log.join('') + JSON.stringify(disclosure)
  for (const word of [PROMPT, ANSWER, 'CANARY-KEY', key, canary, file.data]) expect(kept.includes(word)).toBe(false)
})

/** Simulates the loss of the process that makes an answer. */
async function lose({ rows, host }: RoomAiApp['svc'], disclosure: string): Promise<void> {
  await rows(
    `update room_disclosures set lease_until = now() - interval '1 s' where id = $1 and lease_until is not null`,
    [disclosure],
  )
  await Promise.all([host.rooms.endLostAnswers(), host.rooms.endLostAnswers()])
  const [found] = await rows<{ state: string }>('select state from room_disclosures where id = $1', [disclosure])
  expect(found?.state).toBe('lost')
}

test("the room's channel receives the start and end of every answer, even lost ones", async () => {
  const { id, admin } = await createAiRoom(app)
  const { slug } = (await admin.get(`/rooms/${id}`)).one.attributes as { slug: string }
  using socket = await openSocket(app.svc.url)
  await subscribe(app.svc.url, socket, admin.token, `private-Rooms.${slug}`)
  const events = () =>
    socket.frames
      .filter(({ event }) => event === 'App\\Events\\RoomMessageEvent')
      .map(({ data }) => (data as { data: object }).data)
  const status = (more: object) => ({ type: 'status', data: { slug, model: 'mock-1', ...more } })

  app.provider.behave = answers('Good day.')
  await requestRoomAnswer(admin, id, 'Hello')
  const message = { type: 'message', data: { slug, message_id: '1.000' } }
  const first = [status({ isGenerating: true }), message, status({ isGenerating: false })]
  await expect.poll(events).toEqual(first)
  const created = socket.frames.find(({ event, data }) => event === 'change' && 'record' in (data as object))
  const { subject, record } = (created?.data ?? {}) as { subject: string; record: object }
  const { one } = await admin.get(`/room-messages/${subject}`)
  expect(record).toMatchObject({ id: subject, model: 'mock-1', content: one.attributes['content'] })

  app.provider.behave = stalls
  const { meta } = await requestRoomAnswer(admin, id, 'Hello')
  // The answer's lease is also renewed in between.
  await vi.waitFor(() => lose(app.svc, String(meta['disclosure'])), SLOW)
  const error = 'The service is not available. Try again later.'
  await expect.poll(events).toEqual([...first, status({ isGenerating: true }), status({ isGenerating: false, error })])
  expect((await listDisclosures(admin, id))[0]).toMatchObject({ state: 'lost', answer: null })
})

test('a room keeps a bounded number of disclosure records, without erased people', async () => {
  // A service of its own, as it deletes old records a minute after its start.
  await using own = await startRoomAi({ ROOM_DISCLOSURES: '10', RETENTION_DISCLOSURES_MONTHS: '1' })
  const { svc } = own
  const { id, admin, editor, changes } = await createAiRoom(own, ['editor'])
  await svc.rows(
    `insert into room_disclosures (room_id, user_id, provider, model, parts, state, created_at)
     select $1, $2, 'p', 'm', '[]', 'completed', now() - case when n < 8 then interval '40 days' else interval '20 days' end from generate_series(1, 12) n`,
    [id, editor.id],
  )
  const before = (await listDisclosures(admin, id)).map((disclosure) => disclosure.id)
  const { position } = await changes(admin)
  const deleted = async () =>
    (await changes(admin, position)).changes.flatMap(({ kind, subject }) =>
      kind === 'room-disclosures.deleted' ? [subject] : [],
    )

  await requestRoomAnswer(admin, id, 'Hello')
  await waitForAnswer(admin, id)
  expect(await listDisclosures(admin, id)).toHaveLength(10)
  const oldest = before.toReversed()
  expect((await deleted()).sort()).toEqual(oldest.slice(0, 3).sort())

  expect(await svc.host.rooms.deleteOldDisclosures()).toEqual({ deleted: 4 })
  expect(await svc.host.rooms.deleteOldDisclosures()).toEqual({ deleted: 0 })
  expect((await listDisclosures(admin, id)).slice(1).map((disclosure) => disclosure.id)).toEqual(before.slice(0, 5))
  expect((await deleted()).sort()).toEqual(oldest.slice(0, 7).sort())

  await svc.host.admin.removeUser({ user: { id: editor.id } })
  expect((await listDisclosures(admin, id)).map(({ user }) => user)).toEqual([`${admin.id}`, ...Array(5).fill(null)])
})

test('limits hold for a room, and usage is summed up by room', async () => {
  app.provider.behave = answers('Good day.')
  const [{ id, admin }, other] = [await createAiRoom(app), await createAiRoom(app)]
  await app.svc.host.limits.set({ name: 'rooms', for: 'room', cap: 1, unit: 'requests', per: 'month', mode: 'enforce' })

  expect((await requestRoomAnswer(admin, id, 'Hello')).status).toBe(200)
  await waitForAnswer(admin, id)
  const refused = await requestRoomAnswer(admin, id, 'Hello')
  expect([refused.status, refused.errors[0]?.code]).toEqual([429, 'limit_reached'])
  expect(await listDisclosures(admin, id)).toHaveLength(1)
  expect((await requestRoomAnswer(other.admin, other.id, 'Hello')).status).toBe(200)
  await waitForAnswer(other.admin, other.id)
  await app.svc.host.limits.remove({ name: 'rooms' })

  await app.svc.services.ai.usageLedger.flush()
  const rows = []
  for await (const some of await app.svc.host.usage.by({ by: 'room' })) rows.push(...some)
  const { slug } = (await admin.get(`/rooms/${id}`)).one.attributes
  expect(rows).toContainEqual(expect.objectContaining({ room: `${id} ${slug}`, requests: 1, inputTokens: 7 }))
})

test('older front ends ask by slug, in threads and again, and see the model', async () => {
  app.provider.behave = answers('Good day.')
  const { browser } = await signIn(app.svc, 'olga')
  const { body } = await browser.send('POST', '/req/room/createRoom', { body: { room_name: 'Chess' } })
  const { id, slug } = body['roomData'] as { id: number; slug: string }
  const path = `/req/room/streamAI/${slug}`
  const request = {
    payload: {
      model: 'mock-1',
      stream: false,
      messages: [{ role: 'user', content: { text: 'Hello', attachments: ['00000000-0000-4000-8000-000000000000'] } }],
      params: { temp: 0.5 },
    },
    broadcast: true,
    slug,
    key: KEY,
    threadIndex: 0,
  }
  const last = async () => {
    const [found] = await app.svc.rows<{ state: string }>(
      'select state from room_disclosures where room_id = $1 order by id desc limit 1',
      [id],
    )
    return found?.state
  }

  expect((await browser.send('POST', path, { body: request })).body).toEqual({ success: true })
  await expect.poll(last).toBe('completed')
  expect(JSON.stringify(app.provider.requests.at(-1)?.body.messages)).toContain('A file is not there')
  const shown = (await browser.send('GET', `/req/room/message/get/${slug}/1.000`)).body
  expect(shown).toMatchObject({
    message_role: 'assistant',
    model: 'mock-1',
    metadata: { tools: null, params: { temperature: 0.5 } },
  })
  const { iv, tag, ciphertext } = (shown['content'] as { text: Record<string, string> }).text
  expect(await openContent(`${iv}|${tag}|${ciphertext}`)).toEqual({ text: 'Good day.' })

  app.provider.behave = answers('Better.')
  await browser.send('POST', path, { body: { ...request, isUpdate: true, messageId: '1.000' } })
  await expect
    .poll(async () => {
      const { text } = (await browser.send('GET', `/req/room/message/get/${slug}/1.000`)).body['content'] as {
        text: Record<string, string>
      }
      return openContent(`${text['iv']}|${text['tag']}|${text['ciphertext']}`)
    })
    .toEqual({ text: 'Better.' })

  const other = await browser.send('POST', path, { body: { ...request, slug: 'another' } })
  expect(other.status).toBe(404)
  expect((await openBrowser(app.svc.url).send('POST', path, { body: request })).status).toBe(401)
})

test('the handle of the AI user is what the settings say', async () => {
  const { admin } = await createAiRoom(app)

  expect((await admin.get('/configs/ai')).text).toContain('"handle":"@helper"')
  expect((await admin.get('/configs/extApp')).text).toContain('"aiInGroups":true')
})
