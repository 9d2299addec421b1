import type { FastifyInstance } from 'fastify'
import { scan } from 'secure-json-parse'
import { type ErrorCode, Problem } from '../../routers/core/problems.ts'

/** More than any real body needs, and few enough to be walked through quickly. */
const MAX_DEPTH = 50
const MAX_VALUES = 50_000

const [QUOTE, COMMA, BACKSLASH] = [0x22, 0x2c, 0x5c]
const [OPEN_BRACKET, CLOSE_BRACKET] = [0x5b, 0x5d]
const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d]

/** Reads bodies as JSON; those that nest deeply or hold very many values are refused before any value is made. */
export function readJsonBodies(app: FastifyInstance, { mayBeEmpty = false } = {}): void {
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_: unknown, body: Buffer) => {
    if (body.length > 0) return parseJson(body, 'invalid')
    if (mayBeEmpty) return undefined
    throw new Problem('invalid', { detail: 'The body is empty.' })
  })
}

const INVALID = 'The body is not valid JSON.'

/**
 * The value of a JSON text. Members that change what an object inherits are refused: they are looked for in the value, since
 * a search in the text for all their spellings takes several times as long as to parse it.
 */
export function parseJson(bytes: Buffer, refusal: ErrorCode): unknown {
  const excess = findExcess(bytes)
  if (excess) throw new Problem(refusal, { detail: excess })
  try {
    const value: unknown = JSON.parse(bytes.toString())
    return typeof value === 'object' && value !== null ? scan(value) : value
  } catch {
    throw new Problem(refusal, { detail: INVALID })
  }
}

/** What a JSON text has too much of, as a sentence. Looks at bytes, which is faster than at the characters of a text. */
export function findExcess(bytes: Uint8Array): string | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case QUOTE:
        at = findEndOfString(bytes, at)
        break
      case OPEN_BRACE:
      case OPEN_BRACKET:
        depth++
        values++
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--
        break
      case COMMA:
        values++
    }
    if (depth > MAX_DEPTH) return `The body nests deeper than ${MAX_DEPTH} levels.`
    if (values > MAX_VALUES) return `The body has more than ${MAX_VALUES} values.`
  }
  return undefined
}

/** Where the quote is that closes a string; the end of the text where none does. */
function findEndOfString(bytes: Uint8Array, start: number): number {
  for (let at = start + 1; at < bytes.length; at++) {
    if (bytes[at] === BACKSLASH) at++
    else if (bytes[at] === QUOTE) return at
  }
  return bytes.length
}
