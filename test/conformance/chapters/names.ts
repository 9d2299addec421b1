import { demandStatus, each, type Finding, refuse } from '../check.ts'
import { type JsonObject, object } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { chosenNames, nestedNames, type Part } from '../walk.ts'

const { must, should } = chapter('names')

const EDGE = /^[a-zA-Z0-9\u0080-\uffff]$/
const INSIDE = /^[a-zA-Z0-9\u0080-\uffff_ -]*$/

/** An @-member and a member of an extension are judged by the name after their mark. */
const bare = (name: string) => name.replace(/^@/, '').replace(/^[a-zA-Z0-9]+:/, '')

const hasEdges = (name: string) => EDGE.test(bare(name).at(0) ?? '') && EDGE.test(bare(name).at(-1) ?? '')
const isClean = (name: string) => INSIDE.test(bare(name))

export const isNameLegal = (name: string) => hasEdges(name) && isClean(name)

type Names = (document: JsonObject, isLinkage: boolean) => Part<string>[]

const allNames = (names: Names, isRight: (name: string) => boolean) => async (server: TargetServer) => {
  const answers = await server.documents()
  const findings = answers.flatMap(({ at, document, isLinkage }) =>
    names(document, isLinkage)
      .filter(({ value }) => !isRight(value))
      .map((part): Finding => ({ at: `${at} ${part.at}/${part.value}`, seen: `the member name "${part.value}"` })),
  )
  refuse(findings)
}

const oneCaseUp = (name: string) => (name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase())

export const names = [
  must(
    'not-empty',
    'Member Names [863]',
    'A member name has at least one character.',
    allNames(chosenNames, (name) => bare(name) !== ''),
  ),

  must(
    'edges',
    'Member Names [863]',
    'A member name begins and ends with a letter, a digit or a character outside ASCII.',
    allNames(chosenNames, (name) => bare(name) === '' || hasEdges(name)),
  ),

  must(
    'characters',
    'Reserved Characters [900]',
    'A member name has no reserved character in it.',
    allNames(chosenNames, isClean),
  ),

  should(
    'nested',
    'Member Names [863]',
    'Names within the values of attributes and meta obey the same rules.',
    allNames(nestedNames, isNameLegal),
  ),

  must(
    'case-sensitive',
    'Member Names [863]',
    'Names are case sensitive: a relation in another case is another one, which there is not.',
    (server) =>
      each(
        server.typesWith('list').filter(({ includes }) => includes.length),
        'no type has includes',
        async ({ path, includes }) => {
          demandStatus(await server.get(path, { include: oneCaseUp(includes[0] ?? '') }), 400)
        },
      ),
  ),

  must('at-members-ignored', '@-Members [945]', 'Members that begin with @ are ignored in a request.', (server) =>
    each(server.makeable(), 'nothing can be made', async (type) => {
      const { data } = await server.newDocument(type)
      const attributes = { ...object(data['attributes']), '@note': 'ignored' }
      const document = { '@context': {}, data: { ...data, '@kind': 'ignored', attributes } }
      demandStatus(await server.create(type, document), 201, 202, 204)
    }),
  ),
]
