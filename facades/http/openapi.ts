import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'

/** A JSON Schema, or another object of an OpenAPI document. */
export type Described = Record<string, unknown>

export interface ObjectSchema extends Described {
  properties?: Record<string, Described>
  required?: string[]
}

/** An object with these members, all of which are there unless said otherwise. */
export const describeObject = (
  properties: Record<string, Described>,
  optional: readonly string[] = [],
): ObjectSchema => {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', ...(required.length > 0 && { required }), properties }
}

export const nullable = (schema: Described): Described => ({ anyOf: [schema, { type: 'null' }] })
export const describeList = (items: Described): Described => ({ type: 'array', items })
export const constant = (value: string): Described => ({ type: 'string', const: value })

export const text: Described = { type: 'string' }
export const integer: Described = { type: 'integer' }

/** The schemas that a transform chooses between, which zod cannot tell. */
export const alternatives = new WeakMap<z.core.$ZodType, readonly z.ZodType[]>()

/** How an endpoint refuses. */
export interface Refusals {
  statuses: readonly number[]
  /** What the body then is, by its name among the schemas; a document of JSON:API where there is none. */
  body?: { name: string; schema: Described }
}

/** An endpoint outside JSON:API as the face that serves it describes it; what is not said here, its procedure says. */
export interface Endpoint {
  method: 'get' | 'post'
  path: string
  /** The procedure's path in the router. */
  name: string
  tag: string
  refusals?: Refusals
  /** Where there is more to say than the procedure does. */
  more?: Described
  /** Its own body, where it is not the procedure's input. */
  request?: z.ZodType
  /** Markdown about its body, behind who may call it. */
  details?: string
  /** Its own answer, where it is not the procedure's. */
  answer?: z.ZodType
  body?(input: Described): Described
  answers(answer: Described): Described
}

export const describeJson = (schema: Described): Described => ({ 'application/json': { schema } })
export const describeEvents = (description: string) => ({
  'text/event-stream': { schema: { type: 'string', description } },
})
export const describeAnswer = (status: number, content: Described): Described => ({
  [status]: { description: STATUS_CODES[status], content },
})

/** A body that is sent as it is described. */
export const describeAsIs = (input: Described) => input

/** How endpoints without a protocol of their own tell what went wrong. */
export const refusal = {
  name: 'refusal',
  schema: describeObject(
    {
      success: { type: 'boolean', const: false },
      message: text,
      code: { ...text, description: 'For programs.' },
      requestId: text,
      errors: {
        type: 'object',
        description: 'What is wrong with each field of the body, at 422.',
        additionalProperties: describeList(text),
      },
    },
    ['errors'],
  ),
}
