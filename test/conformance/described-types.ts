import {
  type Api,
  type Creation,
  newRelation,
  type Relation,
  type TargetType,
  type Update,
  undescribed,
} from './api.ts'
import { isObject, type Json, type JsonObject, object } from './json.ts'
import { word } from './openapi/schema-values.ts'
import type { ServerDescription, TypeDescription } from './server-description.ts'

/** The types that a description names, each with what the server itself says of it where the description is silent. */
export function describedTypes({ types }: ServerDescription, { types: known }: Api): TargetType[] {
  return Object.entries(types).map(([name, it]) =>
    describedType(it, known.find((type) => type.name === name) ?? undescribed(name)),
  )
}

function describedType(it: TypeDescription, known: TargetType): TargetType {
  const verbs = [...it.read, ...writesOf(it)]
  return {
    ...known,
    path: it.path ?? known.path,
    described: it.complete || known.described,
    verbs: new Set([...known.verbs, ...verbs]),
    ids: [...it.ids, ...known.ids],
    includes: given(it.include, known.includes),
    sorts: given(it.sort, known.sorts),
    parameters: given(it.page, known.parameters),
    relations: new Map([...known.relations, ...Object.entries(it.relationships).map(relationFrom)]),
    create: creationFrom(it) ?? known.create,
    update: updateFrom(it) ?? known.update,
  }
}

const given = <T>(here: T[], there: T[]): T[] => (here.length > 0 ? here : there)

const writesOf = (it: TypeDescription) => [
  ...(it.create ? (['create'] as const) : []),
  ...(it.create && it.delete ? (['delete'] as const) : []),
  ...(it.update ? (['update'] as const) : []),
]

function relationFrom([name, it]: [string, TypeDescription['relationships'][string]]): [string, Relation] {
  const linkage = it.links.includes('self') || it.change.length > 0
  const related = it.links.includes('related')
  return [name, { ...newRelation(name), to: it.to, many: it.many, linkage, related, changes: new Set(it.change) }]
}

function creationFrom({ create, relationships }: TypeDescription): Creation | undefined {
  if (!create) return undefined
  const settable = Object.entries(relationships).filter(([, it]) => it.required || it.set.includes('create'))
  return {
    attributes: () => object(filled(create.attributes)),
    relations: settable.map(([name, { required, to, many }]) => ({ name, isRequired: required, to, many })),
  }
}

function updateFrom({ update, relationships }: TypeDescription): Update | undefined {
  if (!update) return undefined
  return {
    change: (current) => {
      const values = Object.entries(object(filled(update.attributes)))
      const other = values.find(([name, value]) => JSON.stringify(value) !== JSON.stringify(current[name]))
      return other && { name: other[0], value: other[1] }
    },
    relations: Object.entries(relationships).flatMap(([name, it]) => (it.set.includes('update') ? [name] : [])),
  }
}

/** A value with a word that is another one each time in place of every `{unique}`. */
function filled(value: Json): Json {
  if (typeof value === 'string') return value.replaceAll('{unique}', word)
  if (Array.isArray(value)) return value.map(filled)
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]): [string, Json] => [name, filled(inner)]),
  ) as JsonObject
}
