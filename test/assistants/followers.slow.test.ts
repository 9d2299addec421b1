import { expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { addAdministrator, addPerson, buildContent } from '../kit/assistants/people.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { shareResource } from '../kit/share-resource.ts'

const models = ['mock-1', 'mock-2'].map((id) => ({ id, label: id, external: true }))
const app = shareResource(() => startWithProvider(answers('Good day.'), { models }))

/** Opens the feed of a person, and counts how often it says that assistants have changed. */
async function follow(person: { token: string }, headers: Record<string, string> = {}) {
  const { url } = app.svc
  const feed = await RawSubscription.open({ url, path: 'users.changes', token: person.token, headers })
  await feed.waitForPosition()
  const events = () => feed.messages.filter(({ type }) => type === 'passing')
  return { feed, events, [Symbol.dispose]: () => feed.close() }
}

test('changes of an assistant reach those who may see it, and nobody else', async () => {
  const { svc } = app
  const [owner, colleague, stranger] = [await addPerson(svc), await addPerson(svc, ['staff']), await addPerson(svc)]
  const handle = `followed-${owner.id}`
  using own = await follow(owner)
  using shared = await follow(colleague)
  using strange = await follow(stranger)
  const expectEvents = async (ofOwner: number, ofColleague: number) => {
    await expect.poll(() => own.events().length).toBe(ofOwner)
    await expect.poll(() => shared.events().length).toBe(ofColleague)
  }
  const save = (content: object, publish = true) =>
    owner.call('save', { handle, content: buildContent(content), publish })

  await owner.create(handle, { model: 'mock-2' })
  await expectEvents(1, 0)
  await owner.call('share', { handle, audience: 'groups', groups: ['staff'] })
  await expectEvents(2, 1)
  await save({ model: 'mock-2', name: 'Draft helper' }, false)
  await expectEvents(3, 1)
  await save({ model: 'mock-2', name: 'Renamed helper' })
  await expectEvents(4, 2)
  const { token } = await addAdministrator(svc)
  const [model] = await svc.rows<{ id: string }>("select id::text from ai_models where model_id = 'mock-2'")
  await svc.send('POST', '/trpc/aiModels.update', { token, body: { ...model, active: false } })
  await expectEvents(5, 3)
  await svc.host.admin.setGroups({ user: { id: colleague.id }, groups: [] })
  await expectEvents(5, 4)
  await svc.host.admin.setGroups({ user: { id: colleague.id }, groups: ['staff'] })
  await expectEvents(5, 5)
  await owner.call('delete', { handle })
  await expectEvents(6, 6)

  // What the stranger may see tells that nothing came before it.
  await owner.create(`${handle}-for-all`)
  await owner.shareWithAll(`${handle}-for-all`)
  await expect
    .poll(() => strange.events())
    .toEqual([{ type: 'passing', kind: 'assistants.updated', subject: '*', content: '' }])
  const guest = await RawSubscription.open({ url: svc.url, path: 'users.changes' })
  await guest.ended
  expect([guest.status, guest.ids]).toEqual([401, []])
})

test('a follower that comes back is told once that assistants may have changed', async () => {
  const person = await addPerson(app.svc)
  using first = await follow(person)
  const position = await first.feed.waitForPosition()
  first.feed.close()

  using second = await follow(person, { 'last-event-id': position })

  await expect.poll(() => second.events().length).toBe(1)
})
