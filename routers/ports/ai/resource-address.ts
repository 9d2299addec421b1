/** Longest name of a tool or prompt in a request of a program. */
export const MAX_NAME = 200

/** Longest address of a resource in a request, of which each character may be encoded. */
export const MAX_ADDRESS = 6000

/** Expressions of a template of addresses, such as `{name}` or `{?page,size}` (RFC 6570). */
const EXPRESSION = /\{([+#./;?&]?)[\w.%,*:]+\}/g
const MAX_EXPRESSIONS = 10

interface TemplatePart {
  text: string
  /** The characters that a value has; absent for text that stands in each address. */
  values?: RegExp
}

const plainValues = /^(?:[\w.~,-]|%[\da-f]{2})*$/i
const reservedValues = /^(?:[\w.~,\-/?#&=;:@!$'()*+[\]]|%[\da-f]{2})*$/i

function splitTemplate(template: string): TemplatePart[] {
  const parts: TemplatePart[] = []
  let end = 0
  for (const { 0: text, 1: operator, index } of template.matchAll(EXPRESSION)) {
    if (index > end) parts.push({ text: template.slice(end, index) })
    parts.push({ text, values: operator ? reservedValues : plainValues })
    end = index + text.length
  }
  if (end < template.length) parts.push({ text: template.slice(end) })
  return parts
}

/** Returns true if addresses made from the template can be told apart: it begins with a scheme, and text separates its values. */
export function isReadableTemplate(template: string): boolean {
  const parts = splitTemplate(template)
  const isAdjacent = parts.some(({ values }, index) => values && parts[index + 1]?.values)
  const isBroken = parts.some(({ text, values }) => !values && /[{}]/.test(text))
  const count = parts.filter(({ values }) => values).length
  return /^[a-z][a-z\d+.-]*:/i.test(template) && count > 0 && count <= MAX_EXPRESSIONS && !isAdjacent && !isBroken
}

/** Writes the address of a resource at the gateway, from the id of its server and its address there. */
export const toResourceAddress = (server: number, original: string): string =>
  `svc://${server}/${encodeURIComponent(original)}`

/** Writes a template at the gateway. Its values stay as programs write them. */
export const toTemplateAddress = (server: number, template: string): string =>
  `svc://${server}/${splitTemplate(template)
    .map(({ text, values }) => (values ? text : encodeURIComponent(text)))
    .join('')}`

export interface ResourceAddress {
  server: number
  /** The part behind the server, as it was written. */
  path: string
  /** The address at the server, if it is that of a resource. */
  original: string
}

/** Reads an address at the gateway; undefined if it is none of ours. */
export function parseResourceAddress(address: string): ResourceAddress | undefined {
  const [, server, path = ''] = /^svc:\/\/([1-9]\d{0,8})\/(.+)$/s.exec(address) ?? []
  if (server === undefined) return undefined
  try {
    const original = decodeURIComponent(path)
    // PostgreSQL stores no such character, so no address has it.
    return original.includes('\0') ? undefined : { server: Number(server), path, original }
  } catch {
    return undefined
  }
}

/** Returns the address at the server that a template gives for the path of an address; undefined if it does not fit. */
export function expandTemplate(template: string, path: string): string | undefined {
  const parts = splitTemplate(template)
  let original = ''
  let rest = path
  for (const [index, { text, values }] of parts.entries()) {
    const written = values ? readValue(rest, parts.slice(index + 1)) : encodeURIComponent(text)
    if (!rest.startsWith(written) || values?.test(written) === false) return undefined
    original += values ? written : text
    rest = rest.slice(written.length)
  }
  return rest === '' ? original : undefined
}

/** Reads a value up to the text that follows it: its last occurrence if nothing follows that, otherwise the first. */
function readValue(rest: string, [next, ...more]: readonly TemplatePart[]): string {
  if (!next) return rest
  const literal = encodeURIComponent(next.text)
  const end = more.length === 0 ? rest.lastIndexOf(literal) : rest.indexOf(literal)
  return end < 0 ? rest : rest.slice(0, end)
}
