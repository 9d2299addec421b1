import { applies, demand, demandEqual, demandStatus, each } from '../check.ts'
import type { Answer } from '../client.ts'
import { type JsonObject, object } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { dataOf, keyOf, primaryParts } from '../walk.ts'

const { must, may } = chapter('including')

const NO_INCLUDES = 'no type has includes'

const withIncludes = (server: TargetServer) => server.typesWith('list').filter(({ includes }) => includes.length)

/** Every include path of every type, with the collection read by it. */
const eachPath = (server: TargetServer, check: (answer: Answer, path: string) => void) =>
  each(
    withIncludes(server).flatMap((type) => type.includes.map((include) => ({ path: type.path, include }))),
    NO_INCLUDES,
    async ({ path, include }) => {
      const answer = await server.get(path, { include })
      demandStatus(answer, 200)
      check(answer, include)
    },
  )

/** Follows a path step by step through the linkage of the document. */
function along(document: JsonObject, path: string): { keys: Set<string>; unshown: boolean } {
  const known = new Map(
    [...dataOf(document['data']), ...dataOf(document['included'])].map((it) => [keyOf(it), it] as const),
  )
  const keys = new Set<string>()
  let unshown = false
  let open = primaryParts(document).map(({ value }) => value)
  for (const name of path.split('.')) {
    const data = open.map((resource) => object(object(resource['relationships'])[name])['data'])
    unshown ||= data.some((it) => it === undefined)
    const linked = data.flatMap((it) => dataOf(it)).map(keyOf)
    for (const key of linked) keys.add(key)
    open = [...new Set(linked)].map((key) => known.get(key)).filter((it) => it !== undefined)
  }
  return { keys, unshown }
}

const includedKeys = (document: JsonObject) => dataOf(document['included']).map(keyOf)

export const including = [
  may('offered', 'Inclusion of Related Resources [1235]', 'The server offers include.', async (server) =>
    applies(withIncludes(server).length > 0, NO_INCLUDES),
  ),

  must('present', 'Inclusion of Related Resources [1246]', 'With include, the document has included.', (server) =>
    eachPath(server, ({ at, document }) => demand(Array.isArray(document['included']), at, 'no array included')),
  ),

  must(
    'present-when-empty',
    'Inclusion of Related Resources [1246]',
    'With include, the document has included even where nothing is related.',
    async (server) => {
      const linked = (await server.linked(10)).filter(
        ({ type, relation, self }) => type.includes.includes(relation.name) && self,
      )
      await each(linked, NO_INCLUDES, async ({ type, relation, resource, self }) => {
        applies(dataOf((await server.get(self)).document['data']).length === 0, 'no relationship is empty')
        const { at, document } = await server.get(server.pathOf(type, resource['id']), { include: relation.name })
        demandEqual(document['included'], [], at, 'included')
      })
    },
  ),

  must(
    'nothing-else',
    'Inclusion of Related Resources [1247]',
    'Nothing is included that was not asked for.',
    (server) =>
      eachPath(server, ({ at, document }, path) => {
        const { keys, unshown } = along(document, path)
        applies(!unshown, 'the linkage is not shown')
        const others = includedKeys(document).filter((key) => !keys.has(key))
        demand(others.length === 0, at, `also included: ${others.join(', ')}`)
      }),
  ),

  must(
    'linkage-shown',
    'Compound Documents [622]',
    'The relationships along an include path show their linkage.',
    (server) =>
      eachPath(server, ({ at, document }, path) =>
        demand(!along(document, path).unshown, at, 'relationships without data'),
      ),
  ),

  must(
    'whole-path',
    'Inclusion of Related Resources [1256]',
    'All resources of a path are there, those between included.',
    (server) =>
      eachPath(server, ({ at, document }, path) => {
        const present = new Set([...dataOf(document['data']).map(keyOf), ...includedKeys(document)])
        const missing = [...along(document, path).keys].filter((key) => !present.has(key))
        demand(missing.length === 0, at, `not included: ${missing.join(', ')}`)
      }),
  ),

  must(
    'several',
    'Inclusion of Related Resources [1235]',
    'Several paths, separated by commas, bring what each of them brings.',
    (server) =>
      each(
        withIncludes(server).filter(({ includes }) => includes.length > 1),
        'no type has several includes',
        async ({ path, includes }) => {
          const { at, document } = await server.get(path, { include: includes.join() })
          const present = new Set([...dataOf(document['data']).map(keyOf), ...includedKeys(document)])
          const missing = includes
            .flatMap((include) => [...along(document, include).keys])
            .filter((key) => !present.has(key))
          demand(missing.length === 0, at, `not included: ${missing.join(', ')}`)
        },
      ),
  ),

  must(
    'on-resource',
    'Inclusion of Related Resources [1235]',
    'include works on a single resource as it does on the collection.',
    (server) =>
      each(
        withIncludes(server).filter(({ verbs }) => verbs.has('get')),
        NO_INCLUDES,
        async (type) => {
          const { id } = await server.sample(type)
          const answer = await server.get(server.pathOf(type, id), { include: type.includes.join() })
          demandStatus(answer, 200)
          demand(Array.isArray(answer.document['included']), answer.at, 'no array included')
        },
      ),
  ),

  must('empty', 'Inclusion of Related Resources [1246]', 'An empty include asks for no related resources.', (server) =>
    each(withIncludes(server), NO_INCLUDES, async ({ path }) => {
      const answer = await server.get(path, 'include=')
      demandStatus(answer, 200)
      demand(includedKeys(answer.document).length === 0, answer.at, 'resources are included')
    }),
  ),

  must(
    'bad-path',
    'Inclusion of Related Resources [1256]',
    'A path that is not known or not allowed gives 400.',
    (server) =>
      each(server.typesWith('list'), 'no collection can be read', async ({ path }) =>
        demandStatus(await server.get(path, { include: 'nonesuch' }), 400),
      ),
  ),

  must(
    'bad-step',
    'Inclusion of Related Resources [1256]',
    'So does a path that goes wrong at a later step.',
    (server) =>
      each(withIncludes(server), NO_INCLUDES, async ({ path, includes }) =>
        demandStatus(await server.get(path, { include: `${includes[0]}.nonesuch` }), 400),
      ),
  ),

  must(
    'unsupported',
    'Inclusion of Related Resources [1241]',
    'Where include is not supported, it gives 400.',
    (server) =>
      each(
        server.typesWith('list').filter(({ described, includes }) => described && !includes.length),
        'every type has includes',
        async ({ path, relations }) => {
          demandStatus(await server.get(path, { include: [...relations.keys()][0] ?? 'nonesuch' }), 400)
        },
      ),
  ),

  must(
    'on-related',
    'Inclusion of Related Resources [1241]',
    'On a related link, include either brings an included array or gives 400.',
    async (server) => {
      const related = (await server.linked(1)).filter((it) => it.related)
      await each(related, 'no related links', async (it) => {
        const [include] = server.typeOf(it.relation.to)?.includes ?? []
        applies(include !== undefined, NO_INCLUDES)
        const answer = await server.get(it.related, { include })
        demandStatus(answer, 200, 400)
        demand(answer.status === 400 || Array.isArray(answer.document['included']), answer.at, 'no array included')
      })
    },
  ),
]
