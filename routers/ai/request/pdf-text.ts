const MAX_TEXT = 1000
const [OPENS, CLOSES, BACKSLASH, E, N] = [...Buffer.from('()\\en')]

/**
 * Where to go on behind a text that begins here, or one byte further. A text in which an object would end is none: it
 * began in a stream. Escaped brackets begin no text, so that no two are looked for in the same place.
 */
export function afterText(bytes: Buffer, from: number): number {
  if (bytes[from] === BACKSLASH) return from + (isBracket(bytes[from + 1]) ? 2 : 1)
  return bytes[from] === OPENS ? endOfText(bytes, from) : from + 1
}

const isBracket = (byte: number | undefined) => byte === OPENS || byte === CLOSES

function endOfText(bytes: Buffer, from: number): number {
  const limit = Math.min(bytes.length, from + MAX_TEXT)
  for (let at = from + 1; at < limit; at++) {
    const byte = bytes[at]
    if (byte === CLOSES) return at + 1
    if (byte === OPENS || (byte === E && endsObject(bytes, at))) break
    if (byte === BACKSLASH && bytes[at + 1] !== E) at++
  }
  return from + 1
}

const endsObject = (bytes: Buffer, at: number) =>
  bytes[at + 1] === N && /^end(?:stream|obj)/.test(bytes.toString('latin1', at, at + 'endstream'.length))
