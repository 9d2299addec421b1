import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'
import type { Described } from '../json-api/openapi/components.ts'

/** How an endpoint tells what went wrong. */
export type Refusal = 'plain' | 'openai' | 'anthropic' | 'either' | 'document'

/** An endpoint outside JSON:API, described by the schemas of the procedure that it calls. */
export interface Plain {
  method: 'get' | 'post'
  path: string
  /** The procedure's path in the router. */
  name: string
  tag: string
  refusals: readonly number[]
  refusal?: Refusal
  /** Where there is more to say than the procedure does. */
  more?: Described
  /** Its own body, where it is not the procedure's input. */
  request?: z.ZodType
  body?(input: Described): Described
  answers(answer: Described): Described
}

export const json = (schema: Described): Described => ({ 'application/json': { schema } })
export const answered = (status: number, content: Described): Described => ({
  [status]: { description: STATUS_CODES[status], content },
})

export const events = (description: string) => ({ 'text/event-stream': { schema: { type: 'string', description } } })
export const asIs = (input: Described) => input
