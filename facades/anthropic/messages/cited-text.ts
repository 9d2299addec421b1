import type { Source, TextPart } from '../../../routers/ports/ai/messages.ts'
import type { WholeAnswer } from '../../ai/types.ts'

/** The texts of an answer as blocks, by which Anthropic says where it cites: a citation is of all of its block. */
export class CitedText {
  readonly #sources: readonly Source[]
  readonly #last: TextPart | undefined
  /** Characters of the texts before. */
  #from = 0

  constructor(content: WholeAnswer['content']) {
    this.#sources = content.filter((part) => part.type === 'source')
    this.#last = content.findLast((part) => part.type === 'text')
  }

  /** Of the next text. Pages of which it is not told where they are cited come with the last block of all. */
  blocksOf(part: TextPart): object[] {
    const characters = [...part.text]
    const ends = this.#endsWithin(characters.length)
    const blocks = ends.map((end, at) => {
      const start = ends[at - 1] ?? 0
      const cited = this.#sources.filter((source) => isCitedIn(source, this.#from + start, this.#from + end))
      return { text: characters.slice(start, end).join(''), cited }
    })
    if (part === this.#last) blocks.at(-1)?.cited.push(...this.#sources.filter(({ places }) => !places))
    this.#from += characters.length
    return blocks.map(({ text, cited }) => ({
      ...{ type: 'text', text },
      ...(cited.length > 0 && { citations: cited.map(citationOf) }),
    }))
  }

  /** Where the blocks of a text of this length end. */
  #endsWithin(length: number): number[] {
    const cuts = this.#sources
      .flatMap(({ places = [] }) => places.flatMap(({ start, end }) => [start, end]))
      .map((at) => at - this.#from)
    return [...new Set([...cuts.filter((at) => at > 0 && at < length), length])].sort((one, other) => one - other)
  }
}

const isCitedIn = ({ places = [] }: Source, start: number, end: number): boolean =>
  places.some((place) => place.start <= start && place.end >= end)

/** What of the page it cites, providers of other kinds do not say. */
export const citationOf = ({ url, title = '' }: Source) => ({
  type: 'web_search_result_location',
  url,
  title,
  cited_text: '',
  encrypted_index: '',
})
