import type { PackedVector } from '../../routers/assistants/knowledge/vectors.ts'
import type { PassageName, QueryTerms, RankedPassage, WordCounts } from '../../routers/ports/knowledge-indexes.ts'
import { SignBits } from './sign-bits.ts'

/** Parameters of BM25. */
const K1 = 1.2
const B = 0.75

/** Measured bytes of a term in a map with its list, beside its characters. */
const TERM_BYTES = 200

/** Measured bytes of a passage in the list of a term, since a list grows in steps. */
const POSTING_BYTES = 11

/** A passage and its number of uses share one number, which takes half the memory. More uses do not raise a rank. */
const USES = 256

/** For each term the passages that have it, ranked by BM25. */
class Postings {
  /** For each term `passage * USES + uses`. */
  readonly #passages = new Map<string, number[]>()
  readonly #lengths: number[] = []
  #total = 0
  #bytes = 0

  add(passage: number, terms: ReadonlyMap<string, number>): void {
    let length = 0
    for (const [term, count] of terms) {
      length += count
      const posting = passage * USES + Math.min(count, USES - 1)
      const found = this.#passages.get(term)
      if (found) found.push(posting)
      else {
        this.#passages.set(term, [posting])
        this.#bytes += TERM_BYTES + 2 * term.length
      }
      this.#bytes += POSTING_BYTES
    }
    this.#lengths[passage] = length
    this.#total += length
  }

  /** Estimated memory. */
  get bytes(): number {
    return this.#bytes + 8 * this.#lengths.length
  }

  /** Returns passages by their scores, the best first. */
  rank(terms: ReadonlyMap<string, number>): [passage: number, score: number][] {
    const count = this.#lengths.length
    const average = this.#total / Math.max(1, count)
    const scores = new Map<number, number>()
    for (const [term, weight] of terms) {
      const found = this.#passages.get(term) ?? []
      const rarity = Math.log(1 + (count - found.length + 0.5) / (found.length + 0.5))
      for (const posting of found) {
        const passage = Math.floor(posting / USES)
        const uses = posting % USES
        const norm = K1 * (1 - B + (B * (this.#lengths[passage] ?? 0)) / average)
        const score = (weight * rarity * uses * (K1 + 1)) / (uses + norm)
        scores.set(passage, (scores.get(passage) ?? 0) + score)
      }
    }
    return [...scores].sort(([one, a], [other, b]) => b - a || one - other)
  }
}

/** Languages that join words, so that a question may have a part of a word. */
const joiningLanguages: ReadonlySet<string> = new Set(['german', 'dutch', 'danish', 'norwegian', 'swedish', 'finnish'])

const PIECE_LENGTH = 5

/** Parameter of the fusion of two rankings by their ranks. */
const RANK_OFFSET = 60

/** Passages whose signs are nearest, which are then ranked by their vectors. */
const NEAREST = 200

/**
 * The words of a knowledge, and the signs of its vectors. It ranks passages for a question by their stems, also by pieces of words where a
 * language joins words, and finds those that are near in meaning.
 */
export class SearchIndex {
  readonly #passages: PassageName[] = []
  /** The place of the first passage of each file; the others follow it. */
  readonly #firstPassages = new Map<number, number>()
  #signs: SignBits | undefined
  readonly #stems = new Postings()
  readonly #pieces = new Postings()
  readonly #joinsWords: boolean

  /** Pieces of words are counted only if a language joins words, as they take most of the memory. */
  constructor(languages: readonly string[]) {
    this.#joinsWords = languages.some((language) => joiningLanguages.has(language))
  }

  /** Adds a file with the words of each of its passages. */
  add(fileId: number, language: string, passages: readonly WordCounts[]): void {
    this.#firstPassages.set(fileId, this.#passages.length)
    for (const [ordinal, words] of passages.entries()) {
      const passage = this.#passages.push({ fileId, ordinal }) - 1
      this.#stems.add(passage, countStems(language, words))
      if (this.#joinsWords) this.#pieces.add(passage, countPieces(words))
    }
  }

  /** Adds the vector of a passage. One of a file without words, or of another length than the first, is left out. */
  addVector({ fileId, ordinal }: PassageName, { bytes }: PackedVector): void {
    const first = this.#firstPassages.get(fileId)
    if (first === undefined) return
    this.#signs ??= new SignBits(bytes.length)
    if (bytes.length === this.#signs.dimensions) this.#signs.add(first + ordinal, bytes)
  }

  get bytes(): number {
    const vectors = this.#signs?.bytes ?? 0
    return this.#stems.bytes + this.#pieces.bytes + vectors + 64 * this.#passages.length
  }

  /** Finds passages, of one file if it is given, whose vectors may be the nearest ones to that of a question. */
  findNearest(embedding: readonly number[], fileId?: number): PassageName[] {
    if (this.#signs?.dimensions !== embedding.length) return []
    const isWanted = (at: number) => this.#isOf(fileId, at)
    return this.#signs.findNearest(embedding, { limit: NEAREST, isWanted }).flatMap((at) => this.#passages[at] ?? [])
  }

  /** Ranks passages by words, those of one file if it is given. */
  search(terms: readonly QueryTerms[], limit: number, fileId?: number): RankedPassage[] {
    const byStems = this.#stems.rank(mergeCounts(terms.map(({ language, words }) => countStems(language, words))))
    const ranked = this.#joinsWords
      ? fuse([{ ranking: byStems }, { ranking: this.#pieces.rank(findPieces(terms)) }])
      : byStems
    const wanted = fileId === undefined ? ranked : ranked.filter(([at]) => this.#isOf(fileId, at))
    return wanted.slice(0, limit).flatMap(([at, score]) => {
      const passage = this.#passages[at]
      return passage ? [{ ...passage, score }] : []
    })
  }

  #isOf(fileId: number | undefined, at: number): boolean {
    return fileId === undefined || this.#passages[at]?.fileId === fileId
  }
}

/** Counts words by their language, since a stem may mean something else in another one. */
function countStems(language: string, words: WordCounts): Map<string, number> {
  const counts = new Map<string, number>()
  for (let at = 0; at < words.length; at += 2) counts.set(`${language} ${words[at]}`, Number(words[at + 1]))
  return counts
}

/** Counts the pieces of words; a shorter word is one piece. */
function countPieces(words: WordCounts): Map<string, number> {
  const counts = new Map<string, number>()
  for (let at = 0; at < words.length; at += 2) {
    const word = String(words[at])
    for (let start = 0; start <= Math.max(0, word.length - PIECE_LENGTH); start++) {
      const piece = word.slice(start, start + PIECE_LENGTH)
      counts.set(piece, (counts.get(piece) ?? 0) + Number(words[at + 1]))
    }
  }
  return counts
}

/** Collects the pieces of a question, each once, although its languages have many in common. */
const findPieces = (terms: readonly QueryTerms[]): Map<string, number> =>
  new Map(terms.flatMap(({ words }) => [...countPieces(words).keys()]).map((piece) => [piece, 1]))

const mergeCounts = (counts: readonly Map<string, number>[]): Map<string, number> =>
  new Map(counts.flatMap((part) => [...part]))

interface WeightedRanking<Passage> {
  ranking: readonly (readonly [passage: Passage, score: number])[]
  /** 1 if absent. */
  weight?: number
}

/** Joins rankings by the ranks of each passage, since their scores cannot be compared. */
function fuse(rankings: readonly WeightedRanking<number>[]): [number, number][] {
  const scores = new Map<number, number>()
  for (const { ranking, weight = 1 } of rankings)
    for (const [rank, [passage]] of ranking.entries())
      scores.set(passage, (scores.get(passage) ?? 0) + weight / (RANK_OFFSET + rank + 1))
  return [...scores].sort(([one, a], [other, b]) => b - a || one - other)
}

/** Joins a ranking by words and one by vectors. */
export function fusePassages(
  byWords: readonly RankedPassage[],
  byVectors: readonly RankedPassage[],
  wordsWeight: number,
): RankedPassage[] {
  const all = [...byWords, ...byVectors]
  const numbers = new Map<string, number>()
  const number = ({ fileId, ordinal }: PassageName, at: number) => {
    const name = `${fileId} ${ordinal}`
    const known = numbers.get(name) ?? at
    numbers.set(name, known)
    return known
  }
  const places = all.map(number)
  const toRanking = (from: number, to?: number) => places.slice(from, to).map((place) => [place, 0] as const)
  const fused = fuse([
    { ranking: toRanking(0, byWords.length), weight: wordsWeight },
    { ranking: toRanking(byWords.length) },
  ])
  return fused.flatMap(([at, score]) => {
    const passage = all[at]
    return passage ? [{ fileId: passage.fileId, ordinal: passage.ordinal, score }] : []
  })
}
