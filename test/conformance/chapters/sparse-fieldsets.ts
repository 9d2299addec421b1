import type { TargetType } from '../api.ts'
import { applies, demand, demandEqual, demandStatus, each } from '../check.ts'
import { type JsonObject, object, text } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { dataOf, includedParts } from '../walk.ts'

const { must } = chapter('sparse-fieldsets')

const attributesOf = (resource: JsonObject) => Object.keys(object(resource['attributes']))
const relationshipNames = (resource: JsonObject) => Object.keys(object(resource['relationships']))
const fieldsOf = (resource: JsonObject) => [...attributesOf(resource), ...relationshipNames(resource)]

async function fieldsIn(server: TargetServer, type: TargetType, fields: string, query: Record<string, string> = {}) {
  const answer = await server.get(type.path, { [`fields[${type.name}]`]: fields, ...query })
  applies(answer.status !== 400, 'sparse fieldsets are not supported')
  demandStatus(answer, 200)
  return { answer, found: [...new Set(dataOf(answer.document['data']).flatMap(fieldsOf))].sort() }
}

/** Types with something to leave out. */
const eachType = (server: TargetServer, check: (type: TargetType, sample: JsonObject) => unknown) =>
  each(server.typesWith('list'), 'no collection can be read', async (type) => check(type, await server.sample(type)))

export const sparseFieldsets = [
  must('one-attribute', 'Sparse Fieldsets [1319]', 'Of a type whose fields are named, only those come.', (server) =>
    eachType(server, async (type, sample) => {
      const [name] = attributesOf(sample)
      applies(name !== undefined, 'no attributes')
      const { answer, found } = await fieldsIn(server, type, name)
      demandEqual(found, [name], answer.at, 'the list of fields')
    }),
  ),

  must('several', 'Sparse Fieldsets [1319]', 'Fields are separated by commas.', (server) =>
    eachType(server, async (type, sample) => {
      const names = attributesOf(sample).slice(0, 2).sort()
      applies(names.length === 2, 'no type has two attributes')
      const { answer, found } = await fieldsIn(server, type, names.join())
      demandEqual(found, names, answer.at, 'the list of fields')
    }),
  ),

  must('one-relationship', 'Sparse Fieldsets [1319]', 'Relationships are fields as well.', (server) =>
    eachType(server, async (type, sample) => {
      const [name] = relationshipNames(sample)
      applies(name !== undefined, 'no relationships')
      const { answer, found } = await fieldsIn(server, type, name)
      demandEqual(found, [name], answer.at, 'the list of fields')
    }),
  ),

  must('none', 'Sparse Fieldsets [1324]', 'An empty list asks for no fields.', (server) =>
    eachType(server, async (type) => {
      const { answer, found } = await fieldsIn(server, type, '')
      demandEqual(found, [], answer.at, 'the list of fields')
    }),
  ),

  must('on-resource', 'Sparse Fieldsets [1319]', 'The same holds for a single resource.', (server) =>
    each(server.typesWith('get'), 'no resource can be read', async (type) => {
      const sample = await server.sample(type)
      const [name] = attributesOf(sample)
      applies(name !== undefined, 'no attributes')
      const answer = await server.get(server.pathOf(type, sample['id']), { [`fields[${type.name}]`]: name })
      applies(answer.status !== 400, 'sparse fieldsets are not supported')
      demandEqual(fieldsOf(object(answer.document['data'])), [name], answer.at, 'the list of fields')
    }),
  ),

  must(
    'included',
    'Sparse Fieldsets [1319]',
    'The fields of an included type are limited by its own parameter.',
    (server) =>
      each(
        server.typesWith('list').flatMap((type) => type.includes.map((include) => ({ type, include }))),
        'no type has includes',
        async ({ type, include }) => {
          const whole = await server.get(type.path, { include })
          const resource = includedParts(whole.document)
            .map(({ value }) => value)
            .find((it) => it['type'] !== type.name && attributesOf(it).length > 1)
          const [name] = attributesOf(object(resource))
          applies(name !== undefined, 'nothing of another type is included')
          const { at, status, document } = await server.get(type.path, {
            include,
            [`fields[${text(resource?.['type'])}]`]: name,
          })
          applies(status !== 400, 'sparse fieldsets are not supported')
          const same = includedParts(document)
            .map(({ value }) => value)
            .filter((it) => it['type'] === resource?.['type'])
          demand(same.length > 0, at, 'nothing is included')
          demandEqual([...new Set(same.flatMap(fieldsOf))], [name], at, 'the list of included fields')
        },
      ),
  ),

  must('others-whole', 'Sparse Fieldsets [1324]', 'The fields of one type do not limit those of another.', (server) =>
    each(
      server.typesWith('list').flatMap((type) => type.includes.map((include) => ({ type, include }))),
      'no type has includes',
      async ({ type, include }) => {
        const [name] = attributesOf(await server.sample(type))
        const whole = await server.get(type.path, { include })
        const fields = (document: JsonObject) =>
          includedParts(document)
            .filter(({ value }) => value['type'] !== type.name)
            .map(({ value }) => attributesOf(value))
        applies(name !== undefined && fields(whole.document).length > 0, 'nothing of another type is included')
        const relation = include.split('.')[0]
        const sparse = await server.get(type.path, { include, [`fields[${type.name}]`]: `${name},${relation}` })
        applies(sparse.status !== 400, 'sparse fieldsets are not supported')
        demandEqual(fields(sparse.document), fields(whole.document), sparse.at, 'the attributes of what is included')
      },
    ),
  ),
]
