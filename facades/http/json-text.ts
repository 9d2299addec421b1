import type { FastifyInstance } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'

/** More than any real body needs, and few enough to be walked through quickly. */
const MAX_DEPTH = 50
const MAX_VALUES = 50_000

const [QUOTE, COMMA] = [0x22, 0x2c]
const [OPEN_BRACKET, CLOSE_BRACKET] = [0x5b, 0x5d]
const [OPEN_BRACE, CLOSE_BRACE] = [0x7b, 0x7d]

/** Reads bodies as JSON; those that nest deeply or hold very many values are refused before any value is made. */
export function readJsonBodies(app: FastifyInstance, { mayBeEmpty = false } = {}): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeContentTypeParser('application/json')
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text: string, done) => {
    const excess = excessOf(text)
    if (excess) done(new Problem('invalid', { detail: excess }))
    else if (mayBeEmpty && text === '') done(null, undefined)
    else parse(request, text, done)
  })
}

/** What a JSON text has too much of, as a sentence. */
export function excessOf(text: string): string | undefined {
  let depth = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at)
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
function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  return end === -1 ? text.length : end
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text[before] === '\\') before--
  return (at - before) % 2 === 0
}
