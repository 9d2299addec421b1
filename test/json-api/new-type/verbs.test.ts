import { beforeEach, expect, test } from 'vitest'
import { buildOpenApiDocument } from '../../../facades/docs/document.ts'
import { createWireNames } from '../../../facades/http/names.ts'
import { users } from '../../../routers/identity/users.ts'
import { toMany } from '../../kit/json-api/client.ts'
import { app, craters, moons, planets, startPlanets } from '../../kit/json-api/planets.ts'
import { shareResource } from '../../kit/share-resource.ts'

const space = shareResource(startPlanets)
beforeEach(() => space.clear())

test('a new type is created, read, listed, changed and deleted', async () => {
  const { as, create, people } = space
  const created = await create({ name: 'Terra', mass: 7 }, people.ada)
  expect([created.status, created.headers.location, created.meta]).toEqual([
    201,
    '/api/svc/v1/planets/1',
    { _svc_sync_log: [] },
  ])
  await create({ name: 'Mars' }, people.ada)
  await create({ name: 'Venus' }, people.bob)
  await create({ name: 'Pluto' }, people.ada)
  const list = await as.ada('GET', '/planets?sort=-name&page[number]=1')
  expect(list.data.map(({ attributes }: { attributes: object }) => attributes)).toMatchObject([
    { name: 'Terra', moonCount: 0 },
    { name: 'Pluto' },
  ])
  expect(list.data[0].attributes).not.toHaveProperty('mass')
  expect([list.meta.page.total, list.links.next]).toEqual([3, expect.stringContaining('page%5Bnumber%5D=2')])
  expect((await as.admin('GET', '/planets?filter[heavierThan]=5')).data).toMatchObject([
    { attributes: { name: 'Terra', mass: 7 } },
  ])
  expect((await as.ada('GET', '/planets?filter[mass]=5')).errors[0].source).toEqual({ parameter: 'filter[mass]' })
  expect((await as.ada('GET', '/planets?page[size]=4')).status).toBe(400)
  const changed = await as.admin('PATCH', '/planets/1', {
    data: { type: 'planets', id: '1', attributes: { name: 'Gaia' } },
  })
  expect(changed.data.attributes).toMatchObject({ name: 'Gaia', mass: 7 })
  expect((await create({ name: 'Gaia' }, people.ada)).status).toBe(409)
  expect(
    (await create({ name: '', nonsense: 1 }, people.ada)).errors.map(({ source }: { source: object }) => source),
  ).toEqual([{ pointer: '/data/attributes/name' }, { pointer: '/data/attributes/nonsense' }])
  expect(await as.admin('DELETE', '/planets/1')).toMatchObject({ status: 200, meta: { _svc_sync_log: [] } })
  expect((await as.ada('GET', '/planets/1')).status).toBe(404)
})

test('a new type has relations that are written, actions and members', async () => {
  const { as, create, people } = space
  await create({ name: 'Terra' }, people.ada)
  const path = '/planets/1/relationships/visitors'
  const ids = async (method: 'POST' | 'PATCH' | 'DELETE', ...given: number[]) =>
    (await as.admin(method, path, toMany('users', given))).data.map(({ id }: { id: string }) => Number(id))
  expect(await ids('POST', people.ada.id)).toEqual([people.ada.id])
  expect(await ids('PATCH', people.bob.id)).toEqual([people.bob.id])
  expect(await ids('DELETE', people.bob.id)).toEqual([])
  expect((await as.ada('POST', path, { data: null })).status).toBe(403)
  expect((await as.admin('PATCH', '/planets/1/relationships/moons', { data: [] })).errors[0].code).toBe('read_only')
  const greeted = await as.ada('POST', '/planets/1/actions/greet', { words: 'Hello' })
  expect(greeted).toMatchObject({
    status: 200,
    data: { type: 'planets', id: '1' },
    meta: { words: 'Hello', _svc_sync_log: [] },
  })
  expect((await as.ada('POST', '/planets/1/actions/greet', {})).status).toBe(422)
  expect((await as.bob('POST', '/planets/1/actions/greet', { words: 'x' })).status).toBe(404)
  expect((await as.ada('GET', '/planets/largest')).data.id).toBe('1')
})

test('a new type is in the OpenAPI document with all its verbs', () => {
  const names = createWireNames('svc')
  const { paths } = buildOpenApiDocument({
    router: app,
    resources: [planets, moons, craters, users],
    names,
    baseUrl: '',
  }) as {
    paths: Record<string, object>
  }
  const has = (path: string) =>
    Object.keys(paths[path] ?? paths[`${names.basePath}${path}`] ?? {})
      .filter((key) => key !== 'parameters')
      .sort()
  expect(has('/planets')).toEqual(['get', 'post'])
  expect(has('/planets/{id}')).toEqual(['delete', 'get', 'patch'])
  expect(has('/planets/{id}/relationships/visitors')).toEqual(['delete', 'get', 'patch', 'post'])
  expect(has('/planets/{id}/actions/greet')).toEqual(['post'])
})
