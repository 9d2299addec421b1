import { assert, asyncProperty, constantFrom, array as listOf, oneof, string } from 'fast-check'
import { expect, test } from 'vitest'
import { addCatalogue, startJsonApi } from '../kit/json-api/client.ts'

test('lists of words reach the client as they are in the database', async () => {
  await using svc = await startJsonApi()
  const { model } = await addCatalogue(svc)
  const word = oneof(
    string(),
    string({ unit: 'binary' }),
    constantFrom('', ' ', 'NULL', 'null', '{}', '[]', '"', '\\', ',', 'a,b', '\u2028', '</script>'),
  )
  const storable = word.filter((text) => !text.includes('\0') && text.isWellFormed())

  await assert(
    asyncProperty(listOf(storable, { maxLength: 8 }), async (flags) => {
      await svc.rows('update ai_models set flags = $1 where id = $2', [flags, model.external])
      const { one } = await svc.ada.get(`/ai-models/${model.external}`)
      expect(one.attributes).toMatchObject({ flags })
    }),
  )
})
