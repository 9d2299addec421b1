import type { CitedPassage, Source } from '../../ports/ai/messages.ts'
import { CITATION, type Vault } from '../../ports/vault.ts'

/** A passage that a model reads. */
export type ReadPassage = Omit<CitedPassage, 'number'>

/** The place of a passage, which its address names. */
export interface CitedPlace {
  /** The handle of the assistant. */
  handle: string
  knowledge: number
  file: number
  path: string
  from: number
  to: number
}

interface Origin {
  handle: string
  knowledge: number
  baseUrl: string
  vault: Vault
}

/** The passages that a model was given in one answer, with their numbers. */
export class CitedPassages {
  readonly #origin: Origin
  readonly #numbers = new Map<string, number>()
  readonly #passages = new Map<number, ReadPassage>()
  readonly #urls = new Map<number, string>()
  #last: number

  /** Numbers begin after the last one of the same turn. */
  constructor(origin: Origin, last = 0) {
    this.#origin = origin
    this.#last = last
  }

  /** The number of passages that the model was given. */
  get size(): number {
    return this.#passages.size
  }

  /** Gives a passage its number; the same passage keeps it. */
  giveNumber(passage: ReadPassage): number {
    const place = `${passage.file} ${passage.from}`
    const number = this.#numbers.get(place) ?? ++this.#last
    this.#numbers.set(place, number)
    this.#passages.set(number, passage)
    return number
  }

  /** Returns the source of a number; undefined for one that was not given. */
  findSource(number: number): Source | undefined {
    const passage = this.#passages.get(number)
    if (!passage) return undefined
    const url = this.#urls.get(number) ?? buildAddress(this.#origin, passage)
    this.#urls.set(number, url)
    return { type: 'source', url, title: describePassage(passage), passage: { number, ...passage } }
  }
}

/** Where addresses of passages begin, after the address of the service. */
export const CITATION_PATH = '/sources/'

/** Sealed, so that nobody reads a knowledge by addresses that were never cited. */
function buildAddress({ handle, knowledge, baseUrl, vault }: Origin, { file, path, from, to }: ReadPassage): string {
  const place: CitedPlace = { handle, knowledge, file, path, from, to }
  return `${baseUrl}${CITATION_PATH}${vault.seal(JSON.stringify(place), CITATION)}`
}

/** Opens the last part of an address; undefined if it was not written by this service. */
export function openAddress(vault: Vault, sealed: string): CitedPlace | undefined {
  try {
    return JSON.parse(vault.open(sealed, CITATION))
  } catch {
    return undefined
  }
}

const describePassage = ({ path, page }: ReadPassage): string => (page === null ? path : `${path}, page ${page}`)
