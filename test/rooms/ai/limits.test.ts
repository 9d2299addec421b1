import { expect, test } from 'vitest'
import { answers } from '../../kit/ai/provider.ts'
import { signIn } from '../../kit/browser.ts'
import { createAiRoom, type RoomAiApp, requestRoomAnswer, startRoomAi, waitForAnswer } from '../../kit/rooms/ai.ts'
import { shareResource } from '../../kit/share-resource.ts'

const app = shareResource(startRoomAi)

type Limit = Record<'name' | 'subject' | 'subjectId' | 'roomName' | 'used' | 'held' | 'remaining' | 'resetsAt', unknown>

/** Lists the limits of rooms that a person sees. */
async function seen(token: string | undefined, { svc }: Pick<RoomAiApp, 'svc'> = app): Promise<Limit[]> {
  const answer = await svc.send('GET', '/trpc/usage.limits', { token })
  const { result } = (await answer.json()) as { result: { data: Limit[] } }
  return result.data.filter(({ subject }) => subject === 'room')
}

const limit = (more: object) => ({ cap: 5, unit: 'requests', per: 'month', mode: 'enforce', ...more }) as never

test('only people who may ask in a room see its limits', async () => {
  app.provider.behave = answers('Good day.')
  const { svc } = app
  const [room, other] = [await createAiRoom(app, ['editor', 'viewer']), await createAiRoom(app, ['editor'])]
  const { admin, editor, viewer, id } = room
  await svc.host.limits.set(limit({ name: 'this one', for: `room:${id}` }))
  await svc.host.limits.set(limit({ name: 'each one', for: 'room', cap: 3 }))
  await requestRoomAnswer(admin, id, 'Hello')
  await waitForAnswer(admin, id)
  await svc.services.ai.usageLedger.flush()

  const { name } = (await admin.get(`/rooms/${id}`)).one.attributes
  const of = { subject: 'room', subjectId: id, roomName: name, used: 1, held: 0, resetsAt: expect.any(String) }
  const own = [
    expect.objectContaining({ ...of, name: 'each one', remaining: 2 }),
    expect.objectContaining({ ...of, name: 'this one', remaining: 4 }),
  ]
  expect([await seen(admin.token), await seen(editor.token)]).toEqual([own, own])
  const stranger = await svc.user()
  const installationAdmin = await svc.user({ role: 'admin' })
  for (const { token } of [viewer, other.admin, other.editor, stranger, installationAdmin])
    expect(await seen(token)).toEqual([])
  expect((await svc.send('GET', '/trpc/usage.limits')).status).toBe(401)
})

test('the limits of a room disappear with the right to ask in it', async () => {
  const { svc } = app
  const { editor, id } = await createAiRoom(app, ['editor'])
  await svc.host.limits.set(limit({ name: `of ${id}`, for: `room:${id}` }))
  const names = async () => (await seen(editor.token)).map(({ name }) => name)
  const become = (change: string) =>
    svc.rows(`update room_members set ${change} where room_id = $1 and user_id = $2`, [id, editor.id])

  expect(await names()).toEqual([`of ${id}`])
  await become(`role = 'viewer'`)
  expect(await names()).toEqual([])
  await become(`role = 'editor', state = 'removed'`)
  expect(await names()).toEqual([])
})

test('a program sees no limits of rooms that are closed to programs', async () => {
  await using world = await startRoomAi({ ALLOW_EXTERNAL_APPS_GROUPS_AI: 'false' })
  const { browser, id: person } = await signIn(world.svc, 'olga')
  const { body } = await browser.send('POST', '/req/room/createRoom', { body: { room_name: 'Chess' } })
  const { id } = body['roomData'] as { id: number }
  await world.svc.host.limits.set(limit({ name: 'this one', for: `room:${id}` }))
  const { token } = await world.svc.host.tokens.createFor({ user: { id: person }, name: 'script' })

  expect(await seen(token, world)).toEqual([])
  const { body: told } = await browser.send('GET', '/trpc/usage.limits')
  expect(told).toMatchObject({ result: { data: [{ name: 'this one', roomName: 'Chess', remaining: 5 }] } })
})
