/** Closes incomplete emphasis, code and links at the end of a streaming text. */
export function repairMarkdown(text: string): string {
  const fences = text.match(/^ {0,3}(```|~~~)/gm)?.length ?? 0
  if (fences % 2 === 1) return text
  const start = text.lastIndexOf('\n\n') + 1
  const [before, tail] = [text.slice(0, start), text.slice(start)]
  return before + closeEmphasis(removeOpenLink(tail))
}

/** Reduces an incomplete link to its words. */
function removeOpenLink(tail: string): string {
  const start = tail.lastIndexOf('[')
  const link = start === -1 ? null : /^\[([^\]\n]*)(?:\]\([^)\n]*)?$/.exec(tail.slice(start))
  if (!link) return tail
  return tail.slice(0, tail[start - 1] === '!' ? start - 1 : start) + (link[1] ?? '')
}

function closeEmphasis(tail: string): string {
  if (countMatches(tail, /(?<!\\)`/g) % 2 === 1) return `${tail.trimEnd()}\``
  const plain = tail.replace(/`[^`]*`/g, '')
  // Stars between blanks are an operator.
  if (countMatches(plain, /(?<!\s)\*\*|\*\*(?!\s)/g) % 2 === 1)
    return /\*\*$/.test(tail) ? tail.slice(0, -2) : `${tail.trimEnd()}**`
  return tail
}

const countMatches = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0
