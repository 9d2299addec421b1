import fc from 'fast-check'
import { MEDIA, type Operation, parametersOf } from './openapi.ts'

/** Queries with each described value, which are answered, and with one beyond them, which are not. */
export const queriesOf = (operation: Operation) =>
  parametersOf(operation)
    .filter((it) => it.in === 'query')
    .flatMap(({ name, schema }) => {
      const isPage = name.startsWith('page')
      const good = schema.items?.enum ?? (isPage ? [schema.default, schema.maximum] : [])
      const bad = schema.items ? ['none'] : isPage ? [Number(schema.maximum) + 1, 0] : []
      return [
        ...good.map((value) => ({ query: `?${name}=${value}`, status: 200 })),
        ...bad.map((value) => ({ query: `?${name}=${value}`, status: 400 })),
      ]
    })

const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', -1, 2 ** 53, 'true', null),
)

/** A request as it might be, with values that are described and values that are not. */
export function requestTo(method: string, path: string, operation: Operation) {
  const [, type = ''] = path.split('/')
  const parameters = parametersOf(operation).filter((it) => it.in === 'query')
  const parameter = fc
    .constantFrom(...parameters, { name: 'unheardOf', in: 'query', schema: {} })
    .chain(({ name, schema }) =>
      fc
        .oneof(fc.constantFrom<unknown>(...(schema.items?.enum ?? [schema.default, schema.maximum, 1])), junk)
        .map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value).toWellFormed())}`),
    )
  const { attributes = {}, relationships = {} } =
    (operation.requestBody?.content[MEDIA]?.schema.properties?.data as { properties?: Described } | undefined)
      ?.properties ?? {}
  const someOf = (names: string[], value: fc.Arbitrary<unknown>) =>
    fc.dictionary(fc.constantFrom(...names, 'unheardOf'), value, { maxKeys: 4 })
  const link = fc.record({ data: fc.oneof(fc.constant({ type: 'ai-models', id: '1' }), fc.constant([]), junk) })
  const resource = fc.record(
    {
      type: fc.oneof({ weight: 5, arbitrary: fc.constant(type) }, { weight: 1, arbitrary: fc.string() }),
      id: fc.constantFrom('1', '2', 'x'),
      attributes: someOf(Object.keys(attributes.properties ?? {}), junk),
      relationships: someOf(Object.keys(relationships.properties ?? {}), link),
    },
    { requiredKeys: ['type'] },
  )
  const body = fc.oneof({ weight: 4, arbitrary: fc.record({ data: fc.oneof(resource, fc.array(resource)) }) }, junk)
  return fc.record({
    who: fc.nat({ max: 1 }),
    id: path.includes('{id}')
      ? fc.option(fc.constantFrom('0', '999999', 'x', 'ü/%'), { nil: undefined, freq: 3 })
      : fc.constant(undefined),
    query: fc.oneof(
      fc.constant(''),
      fc.array(parameter, { maxLength: 2 }).map((all) => `?${all.join('&')}`),
    ),
    body: method === 'GET' ? fc.constant(undefined) : body,
  })
}

type Described = Record<string, { properties?: object }>
