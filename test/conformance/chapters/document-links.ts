import { inAll, onlyMembers, onlyObjects } from '../every-document.ts'
import { isObject, isUri, type Json, short, text } from '../json.ts'
import { chapter } from '../obligation.ts'
import { linkParts, urlOf } from '../walk.ts'

const { must } = chapter('document')

const LANGUAGE_TAG = /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i

/** A registered relation type of RFC 8288. */
const RELATION_NAME = /^[a-z][a-z0-9.-]*$/

export const links = [
  must(
    'links',
    'Links [756]',
    'A link is a string, a link object or null.',
    inAll(linkParts, (value: Json) =>
      value === null || typeof value === 'string' || isObject(value) ? undefined : `link ${short(value)}`,
    ),
  ),

  must(
    'link-urls',
    'Links [756]',
    'A link is a URI reference.',
    inAll(linkParts, (value: Json) =>
      value === null || (URL.canParse(urlOf(value), 'http://any') && urlOf(value) !== '')
        ? undefined
        : `link ${short(value)}`,
    ),
  ),

  must(
    'link-objects',
    'Link Objects [793]',
    'A link object has an href and nothing but its known members.',
    inAll(
      (document, isLinkage) => onlyObjects(linkParts(document, isLinkage)),
      (value) =>
        text(value['href'])
          ? onlyMembers('href', 'rel', 'describedby', 'title', 'type', 'hreflang', 'meta')(value)
          : `link ${short(value)}`,
    ),
  ),

  must(
    'link-languages',
    'Link Objects [810]',
    'hreflang is a language tag or an array of such.',
    inAll(
      (document, isLinkage) => onlyObjects(linkParts(document, isLinkage)).filter(({ value }) => 'hreflang' in value),
      ({ hreflang }) =>
        [hreflang].flat().every((tag) => LANGUAGE_TAG.test(text(tag))) ? undefined : `hreflang ${short(hreflang)}`,
    ),
  ),

  must(
    'link-relations',
    'Link Objects [793-810]',
    'rel is one link relation type: a registered name, or a URI.',
    inAll(
      (document, isLinkage) => onlyObjects(linkParts(document, isLinkage)).filter(({ value }) => 'rel' in value),
      ({ rel }) => (RELATION_NAME.test(text(rel)) || isUri(rel ?? null) ? undefined : `rel ${short(rel)}`),
    ),
  ),
]
