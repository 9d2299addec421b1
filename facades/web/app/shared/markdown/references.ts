import { unescapeAddress } from './characters.ts'
import { FormulaLabels } from './formulas.ts'
import type { InlineElement } from './tokens.ts'

/** A footnote of a text. */
interface Note {
  label: string
  lines: string[]
  /** The position among the notes in the order of the text; undefined until it is cited. */
  number: number | undefined
}

/** The targets of references, which may stand anywhere in the text: addresses of links, footnotes and labels of formulas. */
export class References {
  readonly labels = new FormulaLabels()
  readonly #addresses = new Map<string, string>()
  readonly #notes = new Map<string, Note>()
  #cited = 0

  get isEmpty(): boolean {
    return this.#addresses.size === 0 && this.#notes.size === 0
  }

  /** Adds the address of a label; the first one counts. */
  addAddress(label: string, href: string): void {
    const name = normalizeLabel(label)
    if (name !== '' && !this.#addresses.has(name)) this.#addresses.set(name, unescapeAddress(href))
  }

  findAddress(label: string): string | undefined {
    return this.#addresses.get(normalizeLabel(label))
  }

  addNote(label: string, lines: string[]): void {
    const name = normalizeLabel(label)
    if (!this.#notes.has(name)) this.#notes.set(name, { label, lines, number: undefined })
  }

  /** Returns the mark of a footnote, whose number follows from the order in which notes are cited. */
  citeNote(label: string): Extract<InlineElement, { type: 'note' }> | undefined {
    const note = this.#notes.get(normalizeLabel(label))
    if (!note) return undefined
    note.number ??= ++this.#cited
    return { type: 'note', number: note.number, text: note.lines.join(' ').slice(0, 300) }
  }

  /** Lists the notes by their numbers; those that nothing cites come last. */
  listNotes(): { number: number; lines: string[] }[] {
    for (const note of this.#notes.values()) note.number ??= ++this.#cited
    return [...this.#notes.values()]
      .map(({ number = 0, lines }) => ({ number, lines }))
      .toSorted((one, other) => one.number - other.number)
  }
}

const normalizeLabel = (label: string): string => label.trim().replace(/\s+/g, ' ').toLowerCase()
