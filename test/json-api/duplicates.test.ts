import { afterAll, expect, test } from 'vitest'
import { appPublicKey } from '../kit/apps/ext-app.ts'
import { addCatalogue, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'

const svc = await startJsonApi()
const catalogue = await addCatalogue(svc)
afterAll(() => svc[Symbol.asyncDispose]())

const app = { url: 'https://portal.example', redirectUrls: ['https://portal.example/back'], publicKey: appPublicKey }
const model = { label: 'L', usageTypes: ['main'] }
const ofProvider = { provider: toOne('ai-providers', catalogue.provider.open) }

const uniqueAttributes: [type: string, attribute: string, rest: object, relationships?: object][] = [
  ['ai-providers', 'providerId', { name: 'P', adapter: 'demo' }],
  ['ai-models', 'modelId', model, ofProvider],
  ['mcp-servers', 'url', { serverLabel: 'S' }],
  ['ext-apps', 'name', app],
]

test('a duplicate value is refused by the name of its attribute', async () => {
  for (const [type, attribute, rest, relationships] of uniqueAttributes) {
    const create = (value: string) => svc.admin.create(type, { ...rest, [attribute]: value }, relationships)
    const [one, two] = ['https://one.example/', 'https://two.example/']
    await create(one)
    const { id } = (await create(two)).one

    for (const answer of [await create(one), await svc.admin.update(type, id, { [attribute]: one })]) {
      expect([type, answer.status, pointersOf(answer)]).toEqual([type, 409, [`/data/attributes/${attribute}`]])
      expect(answer.errors).toMatchObject([
        { code: 'conflict', detail: `${attribute} must be unique: another record has this value.` },
      ])
    }
    expect((await svc.admin.get(`/${type}/${id}`)).one.attributes[attribute]).toBe(two)
  }
})

test('values that are unique together are refused without a name of one', async () => {
  const create = () =>
    svc.admin.create('system-models', { modelType: 'default' }, { model: toOne('ai-models', catalogue.model.main) })
  await create()

  const answer = await create()

  expect([answer.status, pointersOf(answer)]).toEqual([409, [undefined]])
  expect(answer.errors[0]?.detail).toBe('Another record has the same value where it must be unique.')
})

test('the known unique constraints are those of the database', async () => {
  const rows = await svc.rows<{ name: string }>(
    `select conname as name from pg_constraint where contype = 'u' and cardinality(conkey) = 1`,
  )
  const { all, tableOf } = svc.services.records.resources
  const named = all.flatMap(({ type, entity }) => (entity ? Object.keys(tableOf(type).uniques) : []))

  expect(named.length).toBeGreaterThan(uniqueAttributes.length)
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining(named))
})
