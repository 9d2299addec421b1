import type { Broken } from './breakages.ts'
import { type Type, types } from './model.ts'
import { Refusal } from './refusal.ts'

export interface Query {
  include?: string[]
  fields: Map<string, string[]>
  sort: string[]
  page: number
  size: number
}

const split = (value: string) => value.split(',').filter(Boolean)

/** The standard parameters that an address supports. */
export interface Takes {
  type: Type
  kind: 'collection' | 'resource' | 'linkage'
}

export function readQuery(search: URLSearchParams, { type, kind }: Takes, broken: Broken): Query {
  const isCollection = kind === 'collection'
  const query: Query = { fields: new Map(), sort: [], page: 1, size: type.pageSize ?? 1000 }
  const readers: [RegExp, boolean, (value: string, name: string) => boolean][] = [
    [
      /^include$/,
      kind !== 'linkage' && type.includes.length > 0,
      (value) => {
        query.include = split(value)
        return broken('unknown-include-ok') || query.include.every((path) => type.includes.includes(path))
      },
    ],
    [
      /^fields\[([^[\]]+)\]$/,
      kind !== 'linkage',
      (value, name) => {
        query.fields.set(name, split(value))
        return name in types
      },
    ],
    [
      /^sort$/,
      isCollection && (type.sorts.length > 0 || broken('unknown-sort-ok')),
      (value) => {
        query.sort = split(value)
        return broken('unknown-sort-ok') || query.sort.every((name) => type.sorts.includes(name.replace(/^-/, '')))
      },
    ],
    [
      /^page\[(size|number)\]$/,
      kind !== 'resource' && type.pageSize !== undefined,
      (value, name) => {
        query[name === 'size' ? 'size' : 'page'] = Number(value)
        return /^[1-9]\d{0,3}$/.test(value)
      },
    ],
  ]
  const wrong = [...search].filter(
    ([name, value]) => !take(readers, name, value) && !(broken('unknown-parameter-ok') && /^\w+$/.test(name)),
  )
  if (wrong.length > 0) throw new Refusal(400, 'invalid_query', ...wrong.map(([name]) => ({ parameter: name })))
  return query
}

function take(
  readers: [RegExp, boolean, (value: string, name: string) => boolean][],
  name: string,
  value: string,
): boolean {
  const found = readers.find(([pattern, isTaken]) => isTaken && pattern.test(name))
  return found?.[2](value, found[0].exec(name)?.[1] ?? '') ?? false
}
