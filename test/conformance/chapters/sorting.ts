import type { TargetType } from '../api.ts'
import { applies, demand, demandStatus, each } from '../check.ts'
import { type Json, type JsonObject, object } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { dataOf } from '../walk.ts'

const { must, should } = chapter('sorting')

const NO_SORTS = 'no type can be sorted'

/** Sort fields of a type, without the descending twins that a description may list. */
const sortsOf = ({ sorts }: TargetType) => [...new Set(sorts.map((name) => name.replace(/^-/, '')))]

const fieldOf = (name: string) => (resource: JsonObject) =>
  name === 'id' ? resource['id'] : object(resource['attributes'])[name]

const isNumeric = (value: Json) => typeof value === 'number' || /^-?\d+$/.test(String(value))

/** Orders that a database may put texts in: one of them must fit. */
const orders: ((left: Json, right: Json) => number)[] = [
  (left, right) => (String(left) < String(right) ? -1 : Number(String(left) > String(right))),
  (left, right) => String(left).localeCompare(String(right), 'en'),
  (left, right) => String(left).localeCompare(String(right), 'en', { sensitivity: 'base', ignorePunctuation: true }),
  (left, right) => String(left).toLowerCase().localeCompare(String(right).toLowerCase(), 'en', { numeric: true }),
]

const isIn = (values: Json[], order: (left: Json, right: Json) => number) =>
  values.every((value, index) => index === 0 || order(values[index - 1] ?? null, value) <= 0)

function isAscending(values: Json[]): boolean {
  if (values.every(isNumeric)) return isIn(values, (left, right) => Number(left) - Number(right))
  return orders.some((order) => isIn(values, order))
}

/** The values that are there, in the order of the answer; where to put none is left to the server. */
async function sorted(server: TargetServer, type: TargetType, name: string, sort: string) {
  const answer = await server.get(type.path, { sort })
  demandStatus(answer, 200)
  const values = dataOf(answer.document['data'])
    .map(fieldOf(name))
    .filter((value) => value !== undefined && value !== null)
  applies(new Set(values).size > 1, 'too few different values to see an order')
  return { at: answer.at, values: values as Json[] }
}

const eachSort = (server: TargetServer, check: (type: TargetType, name: string) => unknown) =>
  each(
    server.typesWith('list').flatMap((type) => sortsOf(type).map((name) => ({ type, name }))),
    NO_SORTS,
    ({ type, name }) => check(type, name),
  )

export const sorting = [
  must('ascending', 'Sorting [1360, 1392]', 'sort puts the data in ascending order of a field.', (server) =>
    eachSort(server, async (type, name) => {
      const { at, values } = await sorted(server, type, name, name)
      demand(isAscending(values), at, `values ${values.join(', ')}`)
    }),
  ),

  must('descending', 'Sorting [1377]', 'A minus in front of the field turns the order round.', (server) =>
    eachSort(server, async (type, name) => {
      const { at, values } = await sorted(server, type, name, `-${name}`)
      demand(isAscending(values.toReversed()), at, `values ${values.join(', ')}`)
    }),
  ),

  should('several', 'Sorting [1370]', 'Several fields, separated by commas, apply in their order.', (server) =>
    each(
      server.typesWith('list').filter((type) => sortsOf(type).length > 1),
      'no type has two sort fields',
      async (type) => {
        const names = sortsOf(type)
        await each(
          names.flatMap((first) => names.filter((it) => it !== first).map((second) => ({ first, second }))),
          NO_SORTS,
          async ({ first, second }) => {
            const answer = await server.get(type.path, { sort: `${first},-${second}` })
            demandStatus(answer, 200)
            const groups = Map.groupBy(dataOf(answer.document['data']), (resource) => String(fieldOf(first)(resource)))
            const several = [...groups.values()].map(
              (group) => group.map(fieldOf(second)).filter((value) => value !== undefined && value !== null) as Json[],
            )
            applies(
              several.some((values) => new Set(values).size > 1),
              'no two resources agree in one sort field',
            )
            demand(
              several.every((values) => isAscending(values.toReversed())),
              answer.at,
              'the second field is not in order',
            )
          },
        )
      },
    ),
  ),

  must('unknown', 'Sorting [1389]', 'A field that cannot be sorted by gives 400.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async ({ path }) =>
      demandStatus(await server.get(path, { sort: 'nonesuch' }), 400),
    ),
  ),

  must(
    'unsupported',
    'Sorting [1389]',
    'A field that the server does not offer for sorting gives 400, though it exists.',
    (server) =>
      each(
        server.typesWith('list').filter(({ described }) => described),
        'it is not known what can be sorted by',
        async (type) => {
          const attribute = Object.keys(object((await server.sample(type))['attributes'])).find(
            (name) => !sortsOf(type).includes(name),
          )
          applies(attribute !== undefined, 'every attribute can be sorted by')
          demandStatus(await server.get(type.path, { sort: attribute }), 400)
        },
      ),
  ),
]
