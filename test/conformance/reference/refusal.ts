import type { JsonObject } from '../json.ts'

/** A problem, as the error objects that tell it. */
export class Refusal extends Error {
  readonly status: number
  readonly code: string
  readonly sources: JsonObject[]

  constructor(status: number, code: string, ...sources: JsonObject[]) {
    super(code)
    this.status = status
    this.code = code
    this.sources = sources
  }
}
