import { type Json, type JsonObject, object, objects } from '../json.ts'
import { MEDIA_TYPE } from '../media-type.ts'
import type { Schemas } from './schema.ts'

const methods = ['get', 'post', 'patch', 'delete'] as const
type HttpMethod = (typeof methods)[number]

export interface Operation {
  method: HttpMethod
  /** The path below the service's own, in segments; a parameter is in braces. */
  segments: string[]
  parameters: JsonObject[]
  /** The schemas of what is sent and of what is answered. */
  body: JsonObject
  response: JsonObject
  /** True if it answers with something else than documents, as a file or plain JSON. */
  isPlain: boolean
}

/** The operations of an OpenAPI document, with their paths below that of the service. */
export function readOperations(document: JsonObject, schemas: Schemas, base: string): Operation[] {
  const all = Object.entries(object(document['paths']))
  // A document may describe more than the JSON:API, whose paths are then those below its base.
  const below = all.filter(([path]) => path.startsWith(`${base}/`))
  return (below.length > 0 ? below : all).flatMap(([path, item]) => {
    const shared = objects(object(item)['parameters'])
    return methods.flatMap((method) => {
      const operation = object(object(item)[method])
      if (Object.keys(operation).length === 0) return []
      const parameters = [...shared, ...objects(operation['parameters'])].map((it) => schemas.resolve(it))
      const body = contentOf(schemas, operation['requestBody'])
      const success = successOf(operation)
      const [response, types] = [contentOf(schemas, success), mediaTypesOf(schemas, success)]
      const isPlain = types.length > 0 && !types.includes(MEDIA_TYPE)
      return [{ method, segments: segmentsOf(path, base), parameters, body, response, isPlain }]
    })
  })
}

function segmentsOf(path: string, base: string): string[] {
  const below = path.startsWith(`${base}/`) ? path.slice(base.length) : path
  return below.split('/').filter(Boolean)
}

function successOf(operation: JsonObject): Json | undefined {
  const found = Object.entries(object(operation['responses'])).find(([status]) => /^2/.test(status))
  return found?.[1]
}

const mediaTypesOf = (schemas: Schemas, holder: Json | undefined) =>
  Object.keys(object(schemas.resolve(holder)['content']))

function contentOf(schemas: Schemas, holder: Json | undefined): JsonObject {
  const content = object(schemas.resolve(holder)['content'])
  const chosen = content[MEDIA_TYPE] ?? Object.values(content)[0]
  return schemas.resolve(object(chosen)['schema'])
}
