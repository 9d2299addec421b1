import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'

/** A JSON Schema, or another object of an OpenAPI document. */
export type JsonObject = Record<string, unknown>

export interface ObjectSchema extends JsonObject {
  properties?: Record<string, JsonObject>
  required?: string[]
}

/** Describes an object; all members are required unless listed as optional. */
export const describeObject = (
  properties: Record<string, JsonObject>,
  optional: readonly string[] = [],
): ObjectSchema => {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', ...(required.length > 0 && { required }), properties }
}

export const nullable = (schema: JsonObject): JsonObject => ({ anyOf: [schema, { type: 'null' }] })
export const describeList = (items: JsonObject): JsonObject => ({ type: 'array', items })
export const constant = (value: string): JsonObject => ({ type: 'string', const: value })

export const text: JsonObject = { type: 'string' }
export const integer: JsonObject = { type: 'integer' }

/** The error responses of an endpoint. */
export interface ErrorResponses {
  statuses: readonly number[]
  /** The schema of the error body by name; a JSON:API document by default. */
  body?: { name: string; schema: JsonObject }
}

/** An endpoint outside JSON:API; what is missing here comes from its procedure. */
export interface Endpoint {
  method: 'get' | 'post'
  path: string
  /** Path of the procedure in the router. */
  name: string
  tag: string
  refusals?: ErrorResponses
  /** Additional members of the operation. */
  more?: JsonObject
  /** The schema of the body, if it is not the input of the procedure. */
  request?: z.ZodType
  /** Markdown about the body. */
  details?: string
  /** The schema of the response, if it is not that of the procedure. */
  answer?: z.ZodType
  body?(input: JsonObject): JsonObject
  answers(answer: JsonObject): JsonObject
}

export const describeJson = (schema: JsonObject): JsonObject => ({ 'application/json': { schema } })
export const describeEvents = (description: string) => ({
  'text/event-stream': { schema: { type: 'string', description } },
})
export const describeAnswer = (status: number, content: JsonObject): JsonObject => ({
  [status]: { description: STATUS_CODES[status], content },
})

/** Describes a body that is the input itself. */
export const describeAsIs = (input: JsonObject) => input

/** The error body of endpoints without a protocol of their own. */
export const refusal = {
  name: 'refusal',
  schema: describeObject(
    {
      success: { type: 'boolean', const: false },
      message: text,
      code: { ...text, description: 'An error code for programs.' },
      requestId: text,
      errors: {
        type: 'object',
        description: 'The errors of each field of the body, at 422.',
        additionalProperties: describeList(text),
      },
    },
    ['errors'],
  ),
}
