import { assert, asyncProperty, constantFrom, array as listOf, oneof, string } from 'fast-check'
import { expect, test } from 'vitest'
import { statement } from '../../entities/sql/statement.ts'
import { startApp } from '../kit/app.ts'

const words = statement<{ words: string[]; names: string[] }>(
  'test-lists-of-words',
  'select $1::text[] as words, $1::varchar[] as names',
)
const numbers = statement<{ numbers: (number | null)[] }>('test-list-of-numbers', 'select $1::integer[] as numbers')

test('lists come from the database as they went in, whatever is in them', async () => {
  await using svc = await startApp()
  const { sql } = svc.services
  const word = oneof(
    string(),
    string({ unit: 'binary' }),
    constantFrom('', ' ', 'NULL', 'null', '{}', '"', '\\', ',', 'a,b'),
  )
  const storable = word.filter((text) => !text.includes('\0') && text.isWellFormed())

  await assert(
    asyncProperty(listOf(storable, { maxLength: 8 }), async (list) => {
      expect(await sql(words, [list])).toEqual([{ words: list, names: list }])
    }),
  )
})

test('lists of numbers, with holes, nested and not from one on, are read too', async () => {
  await using svc = await startApp()
  const { sql } = svc.services
  const read = async (list: unknown) => (await sql(numbers, [list]))[0]?.numbers

  expect(await read([])).toEqual([])
  expect(await read([1, -2, 2_147_483_647])).toEqual([1, -2, 2_147_483_647])
  expect(await read([1, null, 3])).toEqual([1, null, 3])
  expect(await read('{{1,2},{3,4}}')).toEqual([
    [1, 2],
    [3, 4],
  ])
  expect(await read('[5:6]={7,8}')).toEqual([7, 8])
  expect(await read(null)).toBeNull()
})
