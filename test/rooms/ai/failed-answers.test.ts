import { describe, expect, onTestFinished, test } from 'vitest'
import { answers, breaksOff, canary, neverEnds, refuses, stalls } from '../../kit/ai/provider.ts'
import {
  createAiRoom,
  listDisclosures,
  listMessages,
  readUsage,
  requestRoomAnswer,
  startRoomAi,
  waitForAnswer,
} from '../../kit/rooms/ai.ts'
import { createPerson } from '../../kit/rooms/messages.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(startRoomAi)

const room = async (...roles: ('admin' | 'editor' | 'viewer')[]) => {
  app.provider.behave = answers('Good day.')
  return createAiRoom(app, roles)
}

describe('an answer that fails', () => {
  test.each([
    ['because the provider refuses', refuses(400), 'provider_failed'],
    ['in its middle', breaksOff('reset'), 'provider_broke_off'],
  ])('%s is told as ended, kept nowhere and recorded once', async (_, behave, error) => {
    const { id, admin } = await room()
    app.provider.behave = behave

    expect((await requestRoomAnswer(admin, id, 'Hello')).status).toBe(200)

    expect(await waitForAnswer(admin, id)).toMatchObject({ state: 'failed', error, answer: null })
    expect(await listMessages(admin, id)).toEqual([])
    await app.svc.services.ai.usageLedger.flush()
    expect(await readUsage(app, id)).toEqual([{ context: 'group', outcome: 'failed', model: 'mock-1' }])
    expect(app.svc.log.join('')).not.toContain(canary)
  })

  test('without a word is told as failed, and billed', async () => {
    const { id, admin } = await room()
    app.provider.behave = answers('')
    await requestRoomAnswer(admin, id, 'Hello')

    expect(await waitForAnswer(admin, id)).toMatchObject({ state: 'failed', error: 'provider_failed', answer: null })
    expect(await listMessages(admin, id)).toEqual([])
    await app.svc.services.ai.usageLedger.flush()
    expect(await readUsage(app, id)).toMatchObject([{ outcome: 'completed' }])
  })

  test('is logged when its failure cannot be recorded', async () => {
    const { id, admin } = await room()
    onTestFinished(() => app.svc.rows('alter table if exists elsewhere rename to room_disclosures').then(() => {}))
    app.provider.behave = async (request, response) => {
      await app.svc.rows('alter table room_disclosures rename to elsewhere')
      await refuses(400)(request, response)
    }

    await requestRoomAnswer(admin, id, 'Hello')

    await expect.poll(() => app.svc.log.join('')).toContain('the failure of an answer in a room could not be recorded')
  })

  test('because its asker may not write any more is not kept', async () => {
    const { id, admin, editor } = await room('editor')
    app.provider.behave = async (request, response) => {
      await app.svc.rows("update room_members set role = 'viewer' where room_id = $1 and user_id = $2", [id, editor.id])
      await answers('Good day.')(request, response)
    }

    await requestRoomAnswer(editor, id, 'Hello')

    expect(await waitForAnswer(admin, id)).toMatchObject({ state: 'failed', error: 'not_permitted', answer: null })
  })
})

describe('an answer under way', () => {
  test.each([
    ['who asked for it', 'editor', neverEnds],
    ['who administers the room', 'admin', stalls],
  ] as const)('is cancelled by %s', async (_, who, behave) => {
    const there = await room('editor')
    app.provider.behave = behave
    const count = app.provider.requests.length
    const { meta } = await requestRoomAnswer(there.editor, there.id, 'Hello')
    await expect.poll(() => app.provider.requests.length).toBe(count + 1)

    const body = { disclosure: meta['disclosure'] }
    expect((await there[who].post(`${there.path}/cancel-answer`, body)).status).toBe(200)

    expect(await waitForAnswer(there.admin, there.id)).toMatchObject({ state: 'cancelled', error: null, answer: null })
    await expect
      .poll(() => readUsage(app, there.id))
      .toEqual([{ context: 'group', outcome: 'aborted', model: 'mock-1' }])
    expect((await there[who].post(`${there.path}/cancel-answer`, body)).status).toBe(200)
  })

  test('is cancelled by nobody else, and ends with its room', async () => {
    const { id, path, admin, editor, viewer } = await room('editor', 'viewer')
    app.provider.behave = stalls
    const { meta } = await requestRoomAnswer(editor, id, 'Hello')
    const stranger = await createPerson(app.svc as never)
    await app.svc.rows("update access_tokens set abilities = '{ai,read,write}' where user_id = $1", [stranger.id])

    expect((await viewer.post(`${path}/cancel-answer`, { disclosure: meta['disclosure'] })).status).toBe(403)
    expect((await stranger.post(`${path}/cancel-answer`, { disclosure: meta['disclosure'] })).status).toBe(404)
    expect((await admin.post(`${path}/cancel-answer`, { disclosure: '999999' })).status).toBe(404)
    expect((await listDisclosures(admin, id))[0]?.state).toBe('answering')

    expect((await admin.delete(`/rooms/${id}`)).status).toBe(200)
    expect(await app.svc.rows('select from room_disclosures where room_id = $1', [id])).toEqual([])
  })

  test('counts for a person: a fifth at the same time is refused', async () => {
    const { id, admin, path } = await room()
    app.provider.behave = stalls
    const answers = []
    for (let n = 0; n < 5; n++) answers.push(await requestRoomAnswer(admin, id, 'Hello'))

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 429])
    for (const { meta } of answers.slice(0, 4))
      await admin.post(`${path}/cancel-answer`, { disclosure: meta['disclosure'] })
  })
})
