import { type Json, type JsonObject, list, object, objects, text, texts } from '../json.ts'
import { pointTo } from '../walk.ts'
import { makeValue, nextNumber, typeOf } from './schema-values.ts'

/** Reads schemas of one OpenAPI document: references resolved, parts of `allOf` joined. */
export class Schemas {
  readonly #document: JsonObject

  constructor(document: JsonObject) {
    this.#document = document
  }

  resolve(schema: Json | undefined, depth = 0): JsonObject {
    const here = object(schema)
    if (depth > 20) return here
    const reference = text(here['$ref'])
    if (reference.startsWith('#')) {
      return this.resolve(pointTo(this.#document, decodeURIComponent(reference.slice(1))), depth + 1)
    }
    const parts = objects(here['allOf']).map((part) => this.resolve(part, depth + 1))
    return parts.reduce((joined, part) => joinSchemas(joined, part), here)
  }

  /** The schema of a member some steps down. */
  member(schema: Json | undefined, ...names: string[]): JsonObject {
    const found = names.reduce(
      (at, name) => this.#oneOf(object(this.#oneOf(at)['properties'])[name]),
      this.resolve(schema),
    )
    return this.#oneOf(found)
  }

  properties(schema: Json | undefined): [string, JsonObject][] {
    return Object.entries(object(this.#oneOf(schema)['properties'])).map(([name, it]) => [name, this.resolve(it)])
  }

  /** The values of an enumeration, of its items where it is an array. */
  enumeration(schema: Json | undefined): string[] {
    const here = this.resolve(schema)
    const constant = text(here['const'])
    if (constant) return [constant]
    if (here['items']) return this.enumeration(here['items'])
    const options = [...objects(here['anyOf']), ...objects(here['oneOf'])]
    return [...texts(here['enum']), ...options.flatMap((option) => this.enumeration(option))]
  }

  /** A value that the schema allows. */
  valueFor(schema: Json | undefined, depth = 0): Json {
    const here = this.#oneOf(schema)
    const given = [here['const'], list(here['examples'])[0], here['example']].find((value) => value !== undefined)
    if (given !== undefined) return given
    const allowed = list(here['enum'])
    if (allowed.length) return allowed.find((value) => value !== null) ?? null
    return this.#made(here, depth)
  }

  /** Another value that the schema allows; undefined where none is known. */
  otherThan(current: Json | undefined, schema: Json | undefined): Json | undefined {
    const here = this.#oneOf(schema)
    const type = typeOf(here)
    const tries: Json[] = [...list(here['enum'])]
    if (!tries.length && type === 'boolean') tries.push(true, false)
    if (!tries.length && (type === 'string' || type === 'integer' || type === 'number')) {
      tries.push(...list(here['examples']), this.#made(here, 0), ...(type === 'string' ? [] : [nextNumber(here)]))
    }
    return tries.find((value) => value !== null && value !== current)
  }

  #made(here: JsonObject, depth: number): Json {
    const type = typeOf(here)
    if (type === 'array') {
      const length = Number(here['minItems'] ?? 0)
      return Array.from({ length }, () => this.valueFor(here['items'], depth + 1))
    }
    if (type !== 'object') return makeValue(here)
    const needed = depth > 5 ? [] : texts(here['required'])
    return Object.fromEntries(needed.map((name) => [name, this.valueFor(object(here['properties'])[name], depth + 1)]))
  }

  /** The schema, or the first alternative that is more than null. */
  #oneOf(schema: Json | undefined): JsonObject {
    const here = this.resolve(schema)
    const options = [...objects(here['anyOf']), ...objects(here['oneOf'])].map((option) => this.resolve(option))
    const chosen = options.find((option) => option['type'] !== 'null')
    return chosen ? joinSchemas(here, this.#oneOf(chosen)) : here
  }
}

function joinSchemas(left: JsonObject, right: JsonObject): JsonObject {
  const { anyOf: _, oneOf: __, allOf: ___, ...rest } = left
  return {
    ...rest,
    ...right,
    properties: { ...object(left['properties']), ...object(right['properties']) },
    required: [...list(left['required']), ...list(right['required'])],
  }
}

/** Returns true if an attribute can be both written and read. */
export const isReadAsWritten = (schema: JsonObject) => schema['readOnly'] !== true && schema['writeOnly'] !== true
