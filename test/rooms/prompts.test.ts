import { describe, expect, test } from 'vitest'
import { createClient } from '../../facades/client/index.ts'
import { startApp } from '../kit/app.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)

const seal = (text: string) => `aXY=|dGFn|${Buffer.from(text).toString('base64')}`

async function openAs(groups: string[] = []) {
  const { token, id } = await svc.user({ abilities: ['read', 'write'] })
  await svc.host.admin.setGroups({ user: { id }, groups })
  return { id, prompts: createClient({ url: svc.url, token }).prompts }
}

describe('own prompts', () => {
  test('are kept, changed and deleted as the ciphertexts that the browser sent', async () => {
    const { id, prompts } = await openAs()

    const [first, second] = await prompts.create.mutate({ prompts: [seal('one'), seal('two')] })
    await prompts.update.mutate({ id: Number(first?.id), sealed: seal('three') })
    await prompts.delete.mutate({ id: Number(second?.id) })

    expect((await prompts.list.query()).own).toMatchObject([{ id: first?.id, sealed: seal('three') }])
    expect(await svc.rows('select sealed from own_prompts where user_id = $1', [id])).toEqual([
      { sealed: seal('three') },
    ])
  })

  test('in clear text are refused', async () => {
    const { prompts } = await openAs()

    await expect(prompts.create.mutate({ prompts: ['A text that anybody can read'] })).rejects.toMatchObject({
      issues: [{ path: ['prompts', 0], message: 'must be iv|tag|ciphertext, each in base64' }],
    })
  })

  test('of another person are neither listed, changed nor deleted', async () => {
    const [ada, bob] = [await openAs(), await openAs()]
    const [own] = await ada.prompts.create.mutate({ prompts: [seal('mine')] })
    const id = Number(own?.id)

    expect((await bob.prompts.list.query()).own).toEqual([])
    await expect(bob.prompts.update.mutate({ id, sealed: seal('yours') })).rejects.toMatchObject({ status: 404 })
    await expect(bob.prompts.delete.mutate({ id })).rejects.toMatchObject({ status: 404 })
    expect((await ada.prompts.list.query()).own).toMatchObject([{ sealed: seal('mine') }])
  })

  test('are at most 200, and an import beyond that adds none', async () => {
    const { prompts } = await openAs()
    await prompts.create.mutate({ prompts: Array.from({ length: 199 }, (_, n) => seal(`${n}`)) })

    await expect(prompts.create.mutate({ prompts: [seal('a'), seal('b')] })).rejects.toMatchObject({
      code: 'quota_reached',
      status: 422,
      message: expect.stringContaining('at most 200 prompts'),
    })

    expect((await prompts.list.query()).own).toHaveLength(199)
  })

  test('are deleted with their person', async () => {
    const { id, prompts } = await openAs()
    await prompts.create.mutate({ prompts: [seal('mine')] })

    await svc.host.admin.removeUser({ user: { id } })

    expect(await svc.rows('select from own_prompts where user_id = $1', [id])).toEqual([])
  })

  test('are no business of guests', async () => {
    const { prompts } = createClient({ url: svc.url })

    await expect(prompts.list.query()).rejects.toMatchObject({ status: 401 })
    await expect(prompts.create.mutate({ prompts: [seal('x')] })).rejects.toMatchObject({ status: 401 })
  })
})

describe('prompts of administrators', () => {
  const share = (prompt: object) => svc.host.prompts.share({ text: 'Explain {{topic}}.', ...prompt } as never)

  test('of a group are found by its members only, as groups change', async () => {
    await share({ name: 'for staff', groups: ['staff'] })
    await share({ name: 'for all' })
    const ada = await openAs(['staff'])
    const read = async () => (await ada.prompts.list.query()).offered.map(({ name }) => name)

    expect(await read()).toEqual(expect.arrayContaining(['for staff', 'for all']))

    await svc.host.admin.setGroups({ user: { id: ada.id }, groups: ['students'] })
    expect(await read()).not.toContain('for staff')
    expect(await read()).toContain('for all')
    await svc.host.admin.setGroups({ user: { id: ada.id }, groups: ['staff'] })
    expect(await read()).toContain('for staff')
  })

  test("in the person's language come first, and other languages are left out", async () => {
    const groups = ['linguists']
    await share({ name: 'A any', groups })
    await share({ name: 'B English', groups, locale: 'en_US' })
    await share({ name: 'C German', groups, locale: 'de_DE' })
    const { prompts } = await openAs(groups)

    const names = (await prompts.list.query()).offered.map(({ name }) => name)

    expect(names.filter((name) => /^[ABC] /.test(name))).toEqual(['B English', 'A any'])
  })

  test('in a language that nobody can choose are refused', async () => {
    await expect(share({ name: 'Unfindable', locale: 'en_GB' })).rejects.toThrow('must be one of de_DE, en_US')
  })

  test('are changed and deleted by administrators alone', async () => {
    const { id } = await share({ name: 'Draft' })
    const { prompts } = await openAs()

    await expect(prompts.changeShared.mutate({ id: Number(id), name: 'Mine' })).rejects.toMatchObject({ status: 403 })
    await expect(prompts.deleteShared.mutate({ id: Number(id) })).rejects.toMatchObject({ status: 403 })
    await svc.host.prompts.changeShared({ id: Number(id), name: 'Final' })
    expect((await prompts.list.query()).offered).toContainEqual(expect.objectContaining({ id, name: 'Final' }))
    await svc.host.prompts.deleteShared({ id: Number(id) })
    expect((await prompts.list.query()).offered.map((prompt) => prompt.id)).not.toContain(id)
  })
})
