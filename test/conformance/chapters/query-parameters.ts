import type { TargetType } from '../api.ts'
import { applies, demandEqual, demandStatus, each, refuse } from '../check.ts'
import { object } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'

const { must, should } = chapter('query-parameters')

const eachCollection = (server: TargetServer, check: (type: TargetType) => unknown) =>
  each(server.typesWith('list'), 'no collection can be read', check)

const refuses = (query: string) => (server: TargetServer) =>
  eachCollection(server, async ({ path }) => demandStatus(await server.get(path, query), 400))

const STANDARD = /^(include|sort|(fields|page|filter)(\[[^[\]]*\])+|page|filter)$/
/** A family with a legal name; one of our own choice has a character that is not from a to z, and an extension its prefix. */
const CUSTOM = /^([a-zA-Z0-9]+:)?(?![a-z]+(\[|$))[a-zA-Z0-9]([\w-]*[a-zA-Z0-9])?(\[[\w.-]*\])*$/

export const queryParameters = [
  must(
    'unknown',
    'Query Parameters [2126]',
    'A parameter of letters only that is not known gives 400.',
    refuses('nonesuch=1'),
  ),

  must(
    'language',
    'Query Parameters [2109, 2126]',
    'Where unknown parameters give 400, one of letters only does so, too, that would name a language.',
    (server) =>
      eachCollection(server, async ({ path }) => {
        applies((await server.get(path, 'nonesuch=1')).status === 400, 'unknown parameters are not refused')
        await each(['lang=en', 'locale=en'], '', async (query) => demandStatus(await server.get(path, query), 400))
      }),
  ),

  must(
    'illegal',
    'Query Parameters [2126]',
    'A parameter whose name is no legal name gives 400.',
    refuses('_nonesuch=1'),
  ),

  must(
    'family',
    'Query Parameters [2109]',
    'A family member that goes on after its bracket gives 400.',
    refuses('page[size]x=1'),
  ),

  must(
    'unknown-filter',
    'Filtering [1442, 2126]',
    'A member of the filter family that is not known gives 400.',
    refuses('filter[nonesuch]=1'),
  ),

  must(
    'unknown-on-resource',
    'Query Parameters [2126]',
    'An unknown parameter gives 400 on a single resource as well.',
    (server) =>
      each(server.typesWith('get'), 'no resource can be read', async (type) => {
        const { id } = await server.sample(type)
        demandStatus(await server.get(server.pathOf(type, id), 'nonesuch=1'), 400)
      }),
  ),

  must(
    'unknown-on-related',
    'Query Parameters [2126]',
    'An unknown parameter gives 400 on related and relationship links as well.',
    async (server) => {
      const links = (await server.linked(1)).flatMap(({ self, related }) => [self, related]).filter(Boolean)
      await each(links, 'no relationship has links', async (link) =>
        demandStatus(await server.get(link, 'nonesuch=1'), 400),
      )
    },
  ),

  must(
    'declared-names',
    'Implementation-Specific Query Parameters [2109]',
    'Parameters of its own that a server declares have a character that is not from a to z.',
    async ({ api }) => {
      applies(api.parameters.length > 0, 'no parameters are declared')
      const wrong = api.parameters.filter(({ name }) => !STANDARD.test(name) && !CUSTOM.test(name))
      refuse(wrong.map(({ name, at }) => ({ at: `${at} ?${name}`, seen: `the parameter name "${name}"` })))
    },
  ),

  should(
    'plain-brackets',
    'Square Brackets in Parameter Names [2225]',
    'Square brackets need not be encoded.',
    (server) =>
      eachCollection(server, async ({ name, path }) => {
        const answer = await server.get(path, `fields[${name}]=`)
        const encoded = await server.get(path, `fields%5B${name}%5D=`)
        applies(encoded.status === 200, 'sparse fieldsets are not supported')
        demandStatus(answer, 200)
      }),
  ),

  must(
    'brackets-equal',
    'Square Brackets in Parameter Names [2227]',
    'Encoded square brackets mean the same as plain ones.',
    (server) =>
      eachCollection(server, async ({ name, path }) => {
        const plain = await server.get(path, `fields[${name}]=`)
        applies(plain.status === 200, 'plain brackets are not accepted')
        const encoded = await server.get(path, `fields%5B${name}%5D=`)
        demandStatus(encoded, 200)
        demandEqual(encoded.document['data'], plain.document['data'], encoded.at, 'data')
      }),
  ),

  must(
    'encoded-comma',
    'Parsing Query Parameters [2191]',
    'Values are decoded: an encoded comma separates as a plain one does.',
    (server) =>
      eachCollection(server, async (type) => {
        const names = Object.keys(object((await server.sample(type))['attributes'])).slice(0, 2)
        applies(names.length === 2, 'no type has two attributes')
        const plain = await server.get(type.path, `fields[${type.name}]=${names.join(',')}`)
        applies(plain.status === 200, 'sparse fieldsets are not supported')
        const encoded = await server.get(type.path, `fields[${type.name}]=${names.join('%2C')}`)
        demandEqual(encoded.document['data'], plain.document['data'], encoded.at, 'data')
      }),
  ),
]
