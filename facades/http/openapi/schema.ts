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
export const whole: Described = { type: 'integer' }

/** The schemas that a transform chooses between, which zod cannot tell. */
export const alternatives = new WeakMap<z.core.$ZodType, readonly z.ZodType[]>()
