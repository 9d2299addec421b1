/** Closes for display what is half-written at the end of a text: emphasis, code and links. */
export function repairMarkdown(text: string): string {
  const fences = text.match(/^ {0,3}(```|~~~)/gm)?.length ?? 0
  if (fences % 2 === 1) return text
  const start = text.lastIndexOf('\n\n') + 1
  const [before, tail] = [text.slice(0, start), text.slice(start)]
  return before + closeMarks(cutLink(tail))
}

/** Of a link that is not written to its end, only the words are shown. */
const cutLink = (tail: string) => tail.replace(/!?\[([^\]\n]*)(\]\([^)\n]*)?$/, '$1')

function closeMarks(tail: string): string {
  if (count(tail, /(?<!\\)`/g) % 2 === 1) return `${tail.trimEnd()}\``
  const plain = tail.replace(/`[^`]*`/g, '')
  if (count(plain, /\*\*/g) % 2 === 1) return /\*\*$/.test(tail) ? tail.slice(0, -2) : `${tail.trimEnd()}**`
  return tail
}

const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0
