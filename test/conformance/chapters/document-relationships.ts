import { applies, refuse } from '../check.ts'
import { identity, inAll, onlyMembers } from '../every-document.ts'
import { isObject, object, short, text } from '../json.ts'
import { chapter } from '../obligation.ts'
import { identifierParts, relationshipParts, relationshipsOf, resourceParts } from '../walk.ts'

const { must } = chapter('document')

export const relationshipObjects = [
  must(
    'relationship-members',
    'Relationships [281]',
    'Relationship objects have no members but links, data and meta.',
    inAll(relationshipParts, onlyMembers('links', 'data', 'meta')),
  ),

  must(
    'relationship-content',
    'Relationships [486]',
    'A relationship object has links, data or meta.',
    inAll(relationshipParts, (value) =>
      ['links', 'data', 'meta'].some((name) => name in value) ? undefined : short(value),
    ),
  ),

  must(
    'relationship-links',
    'Relationships [486]',
    'The links of a relationship name the relationship or the related resources.',
    inAll(
      (document, isLinkage) => relationshipParts(document, isLinkage).filter(({ value }) => 'links' in value),
      ({ links }) =>
        'self' in object(links) ||
        'related' in object(links) ||
        Object.keys(object(links)).some((name) => name.includes(':'))
          ? undefined
          : `links ${short(links)}`,
    ),
  ),

  must(
    'identifier-members',
    'Resource Identifier Objects [281]',
    'Resource identifiers have no members but type, id, lid and meta.',
    inAll(identifierParts, onlyMembers('type', 'id', 'lid', 'meta')),
  ),

  must(
    'identifiers',
    'Resource Identifier Objects [604]',
    'Resource identifiers have a type and an id, both strings.',
    inAll(identifierParts, identity),
  ),

  must(
    'linkage',
    'Resource Linkage [530]',
    'Linkage is null, one identifier or an array of identifiers.',
    inAll(
      (document, isLinkage) => relationshipParts(document, isLinkage).filter(({ value }) => 'data' in value),
      ({ data }) =>
        data === null || isObject(data) || (Array.isArray(data) && data.every(isObject))
          ? undefined
          : `data ${short(data)}`,
    ),
  ),

  must(
    'linkage-kind',
    'Resource Linkage [530]',
    'Linkage of a to-many relationship is always an array, of a to-one relationship never.',
    async (server) => {
      const answers = await server.documents()
      const related = answers.flatMap(({ at, document, isLinkage }) =>
        resourceParts(document, isLinkage).flatMap(({ value }) =>
          relationshipsOf(value).map((it) => ({
            at,
            relation: server.typeOf(text(value['type']))?.relations.get(it.name),
            data: it.value['data'],
          })),
        ),
      )
      const known = related.filter(({ relation, data }) => relation?.many !== undefined && data !== undefined)
      applies(known.length > 0, 'no relationship shows linkage')
      const wrong = known.filter(({ relation, data }) => relation?.many !== Array.isArray(data))
      refuse(wrong.map(({ at, relation, data }) => ({ at: `${at} ${relation?.name}`, seen: `linkage ${short(data)}` })))
    },
  ),
]
