import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { buildModel, buildProvider, startWithConfig } from '../kit/ai/model-config.ts'
import { startApp } from '../kit/app.ts'

const file = `providers:
  - id: house
    adapter: openai-compatible
    apiUrl: https://models.example.org/v1
    models:
      - id: llama
        label: Llama

        groups: [staff]
systemModels:
  default: llama
`

test('administrators see each line of the file that sets provider, model and task', async () => {
  await using app = await startWithConfig({ providers: [] })
  await writeFile(app.file, file)

  const origins = await app.svc.host.models.origins()

  expect(origins?.file).toBe(app.file)
  expect(origins?.providers).toMatchObject([{ id: 'house', line: 2 }])
  const members = [
    { name: 'id', line: 6 },
    { name: 'label', line: 7 },
    { name: 'groups', line: 9 },
  ]
  expect(origins?.models).toEqual([{ id: 'llama', line: 6, members }])
  expect(origins?.tasks).toEqual({ main: [{ id: 'default', line: 11, members: [] }], external: [] })
})

test('no file owns the models of a service that starts without one', async () => {
  await using svc = await startApp()
  expect(await svc.host.models.origins()).toBeNull()
})

test('models stand in the order of their positions, and those without one behind them', async () => {
  await using app = await startWithConfig({ providers: [] })
  await app.sync({
    providers: [
      buildProvider('p', [buildModel('c'), buildModel('b', { position: 2 }), buildModel('a', { position: 7 })]),
    ],
  })

  const { token } = await app.svc.user()
  const answer = await app.svc.send('GET', '/api/svc/v1/ai-models?sort=position,label', { token })
  const { data } = (await answer.json()) as { data: { attributes: { modelId: string; position: number | null } }[] }

  expect(data.map(({ attributes }) => [attributes.modelId, attributes.position])).toEqual([
    ['b', 2],
    ['a', 7],
    ['c', null],
  ])
})

test('groups that the file names hold for models that an older version wrote', async () => {
  await using app = await startWithConfig({ providers: [] })
  await app.sync({ providers: [buildProvider('p', [buildModel('a')])] })
  await app.svc.rows("update ai_models set synced = synced - 'groups'")

  await app.sync({ providers: [buildProvider('p', [buildModel('a', { groups: ['staff'] })])] })

  expect(await app.svc.rows('select groups from ai_models')).toEqual([{ groups: ['staff'] }])
})
