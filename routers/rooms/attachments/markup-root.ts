/** What may stand in front of the root of a document, each with its end. */
const prologue: readonly [begin: RegExp, end: string][] = [
  [/\s+/y, ''],
  [/<\?/y, '?>'],
  [/<!--/y, '-->'],
]

/** Names without the prefix of their namespace. */
const ROOT = /<(?:[\w.-]+:)?([\w.-]+)[\s/>]/y
const DOCTYPE = /<!doctype\s+(?:[\w.-]+:)?([\w.-]+)/iy

/** The name of the first element of a text that is markup, in lower case; nothing where it is none, or begins too late. */
export function findRoot(text: string): string | undefined {
  for (let at = 0; at !== -1; ) {
    const [, root] = matchAt(ROOT, text, at) ?? []
    const [, announced] = matchAt(DOCTYPE, text, at) ?? []
    // A page may leave its first element out.
    if (root || announced?.toLowerCase() === 'html') return (root ?? announced)?.toLowerCase()
    at = announced ? behindDoctype(text, at) : behindPrologue(text, at)
  }
  return undefined
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/** Where one piece of what stands in front ends; -1 where there is none. */
function behindPrologue(text: string, at: number): number {
  for (const [begin, end] of prologue) {
    const [found] = matchAt(begin, text, at) ?? []
    if (found !== undefined) return behind(text, end, at + found.length)
  }
  return -1
}

function behind(text: string, end: string, from: number): number {
  const at = text.indexOf(end, from)
  return at === -1 ? -1 : at + end.length
}

const TOKEN = /["'[\]>]|<!--/g

/** What hides an end in a document type. Its declarations stand in square brackets. */
const hiding: Record<string, string> = { '"': '"', "'": "'", '<!--': '-->' }

function behindDoctype(text: string, from: number, end = '>'): number {
  for (let at = from; at !== -1; ) {
    const [token] = matchAt(TOKEN, text, at) ?? []
    if (token === undefined) return -1
    if (token === end) return TOKEN.lastIndex
    at = behindToken(text, token, TOKEN.lastIndex, end)
  }
  return -1
}

function behindToken(text: string, token: string, at: number, end: string): number {
  if (token === '[' && end === '>') return behindDoctype(text, at, ']')
  const hidden = hiding[token]
  return hidden ? behind(text, hidden, at) : at
}
