import type { Source, TextRange } from '../../ports/ai/messages.ts'
import type { AnswerPart, ModelAnswer } from '../../ports/ai/models.ts'
import type { CitedPassages } from './cited-passages.ts'
import { match, VerbatimScanner } from './verbatim-scanner.ts'

/** Numbers in brackets, as models write them: `[3]`, `[1, 2]`, `[^1]`, `[1-3]`, and `【1†source】`. */
const citation = /[[【]\s*\^?(\d{1,3}(?:\s*[,;–-]\s*\^?\d{1,3})*)\s*(?:†[^\]】\n]{0,80})?[\]】]/y

/** What may become a citation by the next piece of a text. */
const beginOfCitation = /[[【][\s\d^,;–-]{0,80}(?:†[^\]】\n]{0,80})?$/y

/** Spaces before a citation are its own, as they go with one that is removed. */
const spaces = / {1,80}/y
const plainText = /[^ [【`\n~$\\]+|`+|\\[^[【(\s]/y

/** A piece of a text that is settled, with the numbers that it cites. */
interface Settled {
  text: string
  cited: readonly number[]
  /** The number of characters that it replaces. */
  length: number
}

/**
 * Writes the text of an answer with the numbers that the service gave, and without all others. JSON, code and formulas stay
 * as they are: a number in brackets is an index there, the member of a list, or the end of an interval.
 */
export class CitationWriter {
  readonly #passages: CitedPassages
  readonly #verbatim = new VerbatimScanner()
  #rest = ''
  /** Characters that were read and written. */
  #read = 0
  #written = 0
  /** After so many characters that were read, so many more were written. */
  readonly #shifts: { at: number; by: number }[] = []

  constructor(passages: CitedPassages) {
    this.#passages = passages
  }

  /** Returns the text that is settled and the passages that it cites, each behind its number. */
  write(text: string): AnswerPart[] {
    this.#rest += text
    return this.#settle(false)
  }

  /** Returns the rest of the text, because something else follows. */
  end(): AnswerPart[] {
    return this.#settle(true)
  }

  /** Moves ranges of the text that was read to where it was written. */
  moveRanges(ranges: readonly TextRange[]): TextRange[] {
    const move = (place: number) =>
      this.#shifts.reduce((moved, { at, by }) => (at <= place ? moved + by : moved), place)
    return ranges.map(({ start, end }) => ({ start: move(start), end: move(end) }))
  }

  #settle(isEnd: boolean): AnswerPart[] {
    const parts: AnswerPart[] = []
    let text = ''
    for (let next = this.#next(isEnd); next; next = this.#next(isEnd)) {
      const source = this.#rest.slice(0, next.length)
      this.#rest = this.#rest.slice(next.length)
      this.#verbatim.advance(source)
      text += next.text
      const start = this.#written
      this.#count(source, next.text)
      if (next.cited.length === 0) continue
      parts.push({ type: 'delta', text })
      text = ''
      parts.push(...this.#cite(next, start))
    }
    return text ? [...parts, { type: 'delta', text }] : parts
  }

  #count(source: string, text: string): void {
    const [read, written] = [countCharacters(source), countCharacters(text)]
    this.#read += read
    this.#written += written
    if (read !== written) this.#shifts.push({ at: this.#read, by: written - read })
  }

  #cite({ text, cited }: Settled, start: number): Source[] {
    return cited.flatMap((number) => {
      const source = this.#passages.findSource(number)
      const at = start + countCharacters(text.slice(0, text.indexOf(`[${number}]`)))
      return source ? [{ ...source, places: [{ start: at, end: at + `[${number}]`.length }] }] : []
    })
  }

  /** Returns what the rest begins with; undefined if that depends on what follows. */
  #next(isEnd: boolean): Settled | undefined {
    const rest = this.#rest
    if (rest === '') return undefined
    const verbatim = this.#verbatim.measure(rest, isEnd)
    if (verbatim === 0) return this.#nextOfProse(rest, isEnd)
    return verbatim === undefined ? undefined : toPlain(rest.slice(0, verbatim))
  }

  #nextOfProse(rest: string, isEnd: boolean): Settled | undefined {
    const gap = match(spaces, rest, 0)?.[0].length ?? 0
    if (gap === rest.length) return isEnd ? toPlain(rest) : undefined
    if (rest[gap] === '[' || rest[gap] === '【') return this.#nextCitation(gap, isEnd)
    if (gap > 0) return toPlain(rest.slice(0, gap))
    return toPlain(match(plainText, rest, 0)?.[0] ?? rest.slice(0, 1))
  }

  #nextCitation(gap: number, isEnd: boolean): Settled | undefined {
    const rest = this.#rest
    const found = match(citation, rest, gap)
    if (!found) return !isEnd && match(beginOfCitation, rest, gap) ? undefined : toPlain(rest.slice(0, gap + 1))
    const length = gap + found[0].length
    const following = rest[length]
    // What follows decides whether Markdown takes the number for a link.
    if (following === undefined && !isEnd) return undefined
    const cited = readNumbers(found[1] ?? '').filter((number) => this.#passages.findSource(number))
    return { text: writeNumbers(cited, gap, following), cited, length }
  }
}

/** Without numbers, spaces stay only before words. Markdown takes no number for a link that has a space behind it. */
function writeNumbers(cited: readonly number[], gap: number, following = ''): string {
  if (cited.length === 0) return gap > 0 && following !== '' && !/[\s.,;:!?)\]}]/.test(following) ? ' ' : ''
  const separator = following !== '' && '([:'.includes(following) ? ' ' : ''
  return `${' '.repeat(gap)}${cited.map((number) => `[${number}]`).join('')}${separator}`
}

const toPlain = (text: string): Settled => ({ text, cited: [], length: text.length })

const MAX_NUMBERS = 50

/** Reads `1, 3-5` as numbers, each once. */
function readNumbers(list: string): number[] {
  const numbers = list.split(/[,;]/).flatMap((part) => {
    const [first = 0, last = first] = part.split(/[–-]/).map((digits) => Number(digits.replace(/[\s^]/g, '')))
    const count = Math.min(MAX_NUMBERS, last - first + 1)
    return count > 0 ? Array.from({ length: count }, (_, at) => first + at) : [first, last]
  })
  return [...new Set(numbers)].slice(0, MAX_NUMBERS)
}

/** Counts code points, as the places of sources do. */
const countCharacters = (text: string): number => [...text].length

/** Writes the citations of a streamed answer. */
export async function* citeStream(
  batches: AsyncIterable<readonly AnswerPart[]>,
  passages: CitedPassages,
): AsyncGenerator<readonly AnswerPart[], void> {
  const writer = new CitationWriter(passages)
  for await (const batch of batches) yield batch.flatMap((part) => writePart(writer, part))
}

function writePart(writer: CitationWriter, part: AnswerPart): AnswerPart[] {
  if (part.type === 'delta') return writer.write(part.text)
  if (part.type === 'source') return [{ ...part, ...(part.places && { places: writer.moveRanges(part.places) }) }]
  return [...writer.end(), part]
}

/** Writes the citations of a whole answer. Each passage is one source, with all places that cite it. */
export function citeAnswer(answer: ModelAnswer, passages: CitedPassages): ModelAnswer {
  const writer = new CitationWriter(passages)
  const written = answer.content.flatMap((part) =>
    part.type === 'text' ? writer.write(part.text) : writePart(writer, part),
  )
  const content: Content[] = []
  const cited = new Map<string, Source>()
  for (const part of [...written, ...writer.end()]) {
    if (part.type === 'delta') appendText(content, part.text)
    else if (part.type === 'source' && part.passage) cited.set(part.url, joinPlaces(cited.get(part.url), part))
    else content.push(part as Content)
  }
  return { ...answer, content: [...content, ...cited.values()] }
}

type Content = ModelAnswer['content'][number]

function appendText(content: Content[], text: string): void {
  const last = content.at(-1)
  if (last?.type === 'text') content[content.length - 1] = { ...last, text: last.text + text }
  else content.push({ type: 'text', text })
}

const joinPlaces = (known: Source | undefined, source: Source): Source => ({
  ...source,
  places: [...(known?.places ?? []), ...(source.places ?? [])],
})
