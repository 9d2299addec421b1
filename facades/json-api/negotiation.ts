import { Problem } from '../../routers/core/problems.ts'
import type { Route } from './routes.ts'
import { formType, mediaType } from './wire.ts'

interface MediaRange {
  type: string
  parameters: Map<string, string>
}

/** Splits at a separator outside of quotes. An unclosed quote runs to the end of the text, and is scanned only once. */
const split = (text: string, separator: ',' | ';') =>
  text.match(separator === ',' ? /(?:[^,"]|"(?:\\.|[^"\\])*"?)+/g : /(?:[^;"]|"(?:\\.|[^"\\])*"?)+/g) ?? []

function parse(range: string): MediaRange {
  const [type = '', ...rest] = split(range, ';').map((part) => part.trim())
  const parameters = rest.map((part): [string, string] => {
    const [name = '', value = ''] = part.split(/=(.*)/s)
    return [name.trim().toLowerCase(), value.trim().replace(/^"|"$/g, '')]
  })
  return { type: type.toLowerCase(), parameters: new Map(parameters) }
}

/** No other parameters than `ext` and `profile`, and no extension, since we have none. Unknown profiles do no harm. */
const isOurs = ({ parameters }: MediaRange, ignored: readonly string[] = []) =>
  [...parameters.keys()].every(
    (name) => name === 'profile' || ignored.includes(name) || (name === 'ext' && !parameters.get('ext')),
  )

/** Throws where nothing that is accepted is what we send. */
export function assertAcceptable(accept: string | undefined): void {
  if (accept === undefined || accept.trim() === '') return
  const ranges = split(accept, ',').map(parse)
  const jsonApi = ranges.filter((range) => range.type === mediaType && weightOf(range) > 0)
  if (jsonApi.length > 0 && jsonApi.every((range) => !isOurs(range, ['q']))) throw new Problem('not_acceptable')
  // Of the ranges that we are in, the narrowest says whether we are wanted.
  const narrowest = [mediaType, 'application/*', '*/*'].find((type) => ranges.some((range) => range.type === type))
  const isWanted = ranges.some(
    (range) => (range.type === narrowest || range.type === 'application/json') && weightOf(range) > 0,
  )
  if (!isWanted) throw new Problem('not_acceptable')
}

const weightOf = ({ parameters }: MediaRange) => Number(parameters.get('q') ?? 1)

/** Throws where a body is not JSON:API; an action takes plain JSON as well, or nothing but a form. */
export function assertContentType(contentType: string | undefined, { answers, takesFile }: Route): void {
  const range = parse(contentType ?? '')
  if (takesFile) {
    if (range.type !== formType) throw new Problem('unsupported_media_type')
    return
  }
  if (answers === 'action' && range.type === 'application/json') return
  if (range.type !== mediaType || !isOurs(range)) throw new Problem('unsupported_media_type')
}
