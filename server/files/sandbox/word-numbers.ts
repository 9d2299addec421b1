import { DomUtils } from 'htmlparser2'
import type { Document, Element } from './xml.ts'
import { attributeOf, childOf, childrenOf } from './xml.ts'

interface Level {
  format: string
  /** With `%1` to `%9` in the place of the numbers of the levels. */
  text: string
  start: number
  /** Whether numbers of all levels are written in digits. */
  isLegal: boolean
  style: string | undefined
}

interface List {
  /** Lists of one definition count on from each other. */
  definition: string
  /** Where this list begins anew, by level. */
  starts: Map<number, number>
}

interface Style {
  basedOn: string | undefined
  list: string | undefined
  level: number | undefined
}

const MAX_LEVELS = 9
const MAX_STYLES = 20

/** Counts the numbered paragraphs of a Word document, and says what stands before each. */
export class WordNumbers {
  readonly #definitions = new Map<string, Map<number, Level>>()
  readonly #lists = new Map<string, List>()
  readonly #styles = new Map<string, Style>()
  readonly #counts = new Map<string, (number | undefined)[]>()
  readonly #begun = new Set<string>()

  constructor(numbering: Document | undefined, styles: Document | undefined) {
    for (const style of elements('w:style', styles)) this.#addStyle(style)
    for (const definition of elements('w:abstractNum', numbering)) this.#addDefinition(definition)
    for (const list of elements('w:num', numbering)) this.#addList(list)
    for (const definition of elements('w:abstractNum', numbering)) this.#linkDefinition(definition)
  }

  /** "§ 3", "1.2.", or "-" before a paragraph with these properties; undefined where nothing stands. */
  writeLabel(properties: Element | undefined): string | undefined {
    const own = childOf(properties, 'w:numPr')
    const style = attributeOf(childOf(properties, 'w:pStyle'))
    const list = attributeOf(childOf(own, 'w:numId')) ?? this.#listOfStyle(style)?.list
    const found = list === undefined ? undefined : this.#lists.get(list)
    const levels = found && this.#definitions.get(found.definition)
    if (list === undefined || !found || !levels) return undefined
    const at = levelNumber(childOf(own, 'w:ilvl')) ?? this.#levelOfStyle(style, levels)
    const level = levels.get(at)
    if (!level) return undefined
    const counts = this.#count(list, found, at, levels)
    return level.format === 'bullet' ? `${'  '.repeat(at)}-` : fill(level, levels, counts)
  }

  #count(name: string, { definition, starts }: List, at: number, levels: ReadonlyMap<number, Level>) {
    const counts = this.#counts.get(definition) ?? []
    this.#counts.set(definition, counts)
    const start = starts.get(at)
    const isAnew = start !== undefined && !this.#begun.has(`${name} ${at}`)
    this.#begun.add(`${name} ${at}`)
    const last = counts[at]
    counts[at] = isAnew || last === undefined ? (start ?? levels.get(at)?.start ?? 1) : last + 1
    counts.length = at + 1
    return counts
  }

  #listOfStyle(name: string | undefined): Style | undefined {
    let style = name === undefined ? undefined : this.#styles.get(name)
    for (let depth = 0; style && style.list === undefined && depth < MAX_STYLES; depth++)
      style = style.basedOn === undefined ? undefined : this.#styles.get(style.basedOn)
    return style
  }

  #levelOfStyle(name: string | undefined, levels: ReadonlyMap<number, Level>): number {
    for (const [at, { style }] of levels) if (style !== undefined && style === name) return at
    return this.#listOfStyle(name)?.level ?? 0
  }

  #addStyle(style: Element): void {
    const id = style.attribs['w:styleId']
    const numbered = childOf(childOf(style, 'w:pPr'), 'w:numPr')
    const [list, level] = [attributeOf(childOf(numbered, 'w:numId')), levelNumber(childOf(numbered, 'w:ilvl'))]
    if (id !== undefined) this.#styles.set(id, { basedOn: attributeOf(childOf(style, 'w:basedOn')), list, level })
  }

  #addDefinition(definition: Element): void {
    const id = definition.attribs['w:abstractNumId']
    if (id !== undefined) this.#definitions.set(id, new Map(childrenOf(definition, 'w:lvl').flatMap(toLevel)))
  }

  #addList(list: Element): void {
    const definition = attributeOf(childOf(list, 'w:abstractNumId'))
    const id = list.attribs['w:numId']
    if (id === undefined || definition === undefined) return
    const overrides = childrenOf(list, 'w:lvlOverride')
    const starts = overrides.flatMap((override): [number, number][] => {
      const start = attributeOf(childOf(override, 'w:startOverride'))
      return start === undefined ? [] : [[Number(override.attribs['w:ilvl']), Number(start)]]
    })
    this.#lists.set(id, { definition, starts: new Map(starts) })
    // A list may have levels of its own, and then counts by itself.
    const own = overrides.flatMap((override) => childrenOf(override, 'w:lvl')).flatMap(toLevel)
    if (own.length === 0) return
    const name = `of list ${id}`
    this.#definitions.set(name, new Map([...(this.#definitions.get(definition) ?? []), ...own]))
    this.#lists.set(id, { definition: name, starts: new Map(starts) })
  }

  /** A definition may be that of a style, which names a list. */
  #linkDefinition(definition: Element): void {
    const [id, link] = [definition.attribs['w:abstractNumId'], attributeOf(childOf(definition, 'w:numStyleLink'))]
    const list = link === undefined ? undefined : this.#styles.get(link)?.list
    const levels = list === undefined ? undefined : this.#definitions.get(this.#lists.get(list)?.definition ?? '')
    if (id !== undefined && levels) this.#definitions.set(id, levels)
  }
}

const elements = (name: string, document: Document | undefined) =>
  document ? DomUtils.getElementsByTagName(name, document) : []

function levelNumber(element: Element | undefined): number | undefined {
  const level = Number(attributeOf(element))
  return Number.isInteger(level) && level >= 0 && level < MAX_LEVELS ? level : undefined
}

function toLevel(level: Element): [number, Level][] {
  const at = Number(level.attribs['w:ilvl'] ?? 0)
  const start = Number(attributeOf(childOf(level, 'w:start')) ?? 1)
  const legal = childOf(level, 'w:isLgl')
  return [
    [
      at,
      {
        format: attributeOf(childOf(level, 'w:numFmt')) ?? 'decimal',
        text: attributeOf(childOf(level, 'w:lvlText')) ?? '',
        start: Number.isSafeInteger(start) ? start : 1,
        isLegal: legal !== undefined && !isOff(legal),
        style: attributeOf(childOf(level, 'w:pStyle')),
      },
    ],
  ]
}

export const isOff = (element: Element): boolean => ['0', 'false', 'off'].includes(attributeOf(element) ?? '')

function fill({ text, isLegal }: Level, levels: ReadonlyMap<number, Level>, counts: readonly (number | undefined)[]) {
  const label = text.replace(/%([1-9])/g, (_, digit: string) => {
    const at = Number(digit) - 1
    const level = levels.get(at)
    return write(counts[at] ?? level?.start ?? 1, isLegal ? 'decimal' : (level?.format ?? 'decimal'))
  })
  return label.trim() || undefined
}

function write(count: number, format: string): string {
  if (format === 'none' || format === 'bullet') return ''
  if (format === 'decimalZero') return `${count}`.padStart(2, '0')
  const written = format.endsWith('Letter') ? letters(count) : format.endsWith('Roman') ? roman(count) : `${count}`
  return format.startsWith('lower') ? written.toLowerCase() : written
}

/** A to Z, then AA to ZZ. */
function letters(count: number): string {
  if (count < 1 || count > 26 * 20) return `${count}`
  return String.fromCharCode(65 + ((count - 1) % 26)).repeat(Math.ceil(count / 26))
}

const numerals: readonly [number, string][] = [
  [1000, 'M'],
  [900, 'CM'],
  [500, 'D'],
  [400, 'CD'],
  [100, 'C'],
  [90, 'XC'],
  [50, 'L'],
  [40, 'XL'],
  [10, 'X'],
  [9, 'IX'],
  [5, 'V'],
  [4, 'IV'],
  [1, 'I'],
]

function roman(count: number): string {
  if (count < 1 || count > 3999) return `${count}`
  let left = count
  return numerals.reduce((written, [value, numeral]) => {
    const times = Math.floor(left / value)
    left -= times * value
    return written + numeral.repeat(times)
  }, '')
}
