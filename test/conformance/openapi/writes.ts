import type { Creation, Update } from '../api.ts'
import { type Json, type JsonObject, list, object, text } from '../json.ts'
import { isReadAsWritten, type Schemas } from './schema.ts'

/** Reads the creation of resources from the schema of its document. */
export function creationFrom(schemas: Schemas, body: JsonObject): Creation {
  const data = schemas.member(body, 'data')
  const relationships = schemas.member(data, 'relationships')
  const required = list(relationships['required']).map(text)
  return {
    attributes: () => object(schemas.valueFor(schemas.member(data, 'attributes'))),
    relations: schemas.properties(relationships).map(([name]) => {
      const linkage = schemas.member(relationships, name, 'data')
      const [to] = schemas.enumeration(schemas.member(linkage['items'] ?? linkage, 'type'))
      return { name, isRequired: required.includes(name), to, many: linkage['items'] !== undefined }
    }),
  }
}

/** Reads the update of resources from the schema of its document. */
export function updateFrom(schemas: Schemas, body: JsonObject): Update {
  const data = schemas.member(body, 'data')
  const attributes = schemas.properties(schemas.member(data, 'attributes'))
  return {
    change: (current) => {
      const changes = attributes.flatMap(([name, schema]) => {
        if (!isReadAsWritten(schema) || !(name in current)) return []
        const value = schemas.otherThan(current[name], schema)
        return value === undefined ? [] : [{ name, value }]
      })
      return changes.toSorted((left, right) => rank(left.value) - rank(right.value))[0]
    },
    relations: schemas.properties(schemas.member(data, 'relationships')).map(([name]) => name),
  }
}

/** Texts without further meaning are safest to change. */
const rank = (value: Json) => (String(value).startsWith('conformance') ? 0 : 1)
