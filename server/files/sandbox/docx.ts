import { hex } from 'dingbat-to-unicode'
// Reads and writes small archives in memory. The parser of office files reads with it, too.
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate'
import { DomUtils } from 'htmlparser2'
import type { TextCollector } from './text-collector.ts'
import { attributeOf, type Document, type Element, findChild, findChildren, parseXml, writeXml } from './xml.ts'

/** Parts with text: the document, its notes, comments, headers and footers. */
const partsWithText = /^word\/(?:document|footnotes|endnotes|comments|header|footer)\d*\.xml$/

/**
 * Inserts text into a Word document that its parser ignores: numbers of lists and headings, check boxes, choices,
 * symbols, ruby text, and descriptions of pictures.
 */
export function insertImplicitText(bytes: Buffer, text: TextCollector): Buffer {
  const parts = unzipSync(bytes, { filter: ({ name }) => /\.(?:xml|rels)$/.test(name) || /^word\/afchunk/i.test(name) })
  const parse = (name: string) => parts[name] && parseXml(strFromU8(parts[name]))
  const numbers = new WordNumbers(parse('word/numbering.xml'), parse('word/styles.xml'))
  for (const [name, part] of Object.entries(parts)) {
    if (!partsWithText.test(name)) continue
    const document = parseXml(strFromU8(part))
    for (const paragraph of findElements(document, 'w:p')) insertNumber(paragraph, numbers)
    for (const element of findElements(document, ...Object.keys(textWriters))) insertText(element, text)
    parts[name] = strToU8(writeXml(document))
  }
  return Buffer.from(zipSync(parts, { level: 0 }))
}

const findElements = (document: Document, ...names: string[]): Element[] =>
  DomUtils.getElementsByTagName((name) => names.includes(name), document)

/** Inserts the number of a paragraph as text and removes its numbering, so that the parser does not number it too. */
function insertNumber(paragraph: Element, numbers: WordNumbers): void {
  const properties = findChild(paragraph, 'w:pPr')
  const isDeleted = findChild(findChild(properties, 'w:rPr'), 'w:del') !== undefined
  const label = isDeleted ? undefined : numbers.writeLabel(properties)
  for (const numbered of findChildren(properties, 'w:numPr')) DomUtils.removeElement(numbered)
  if (label === undefined || !properties) return
  const run = parseXml(`<w:r>${writeTextElement(`${label} `)}</w:r>`).children[0]
  if (run) DomUtils.append(properties, run)
}

const writeTextElement = (text: string) => `<w:t xml:space="preserve">${text}</w:t>`

/** Functions that return the text for an element as XML; undefined if there is none. */
const textWriters: Record<string, (element: Element, text: TextCollector) => string | undefined> = {
  'w:noBreakHyphen': () => '\u2011',
  'w:sym': writeSymbol,
  'w:ruby': (ruby) => `${joinTexts(findChild(ruby, 'w:rubyBase'))}(${joinTexts(findChild(ruby, 'w:rt'))})`,
  'w:fldChar': writeChoice,
  'w:drawing': findDescription,
}

function insertText(element: Element, text: TextCollector): void {
  const written = textWriters[element.name]?.(element, text)
  if (written === undefined) return
  const textElement = parseXml(writeTextElement(written)).children[0]
  if (textElement) DomUtils.append(element, textElement)
}

/** Symbol fonts may use the private range that starts at F000. */
function writeSymbol(symbol: Element, text: TextCollector): string | undefined {
  const font = attributeOf(symbol, 'w:font') ?? ''
  const code = attributeOf(symbol, 'w:char') ?? ''
  const character = hex(font, code) ?? hex(font, code.replace(/^F0/i, ''))
  if (!character) text.reportGap('characters')
  return character && `&#${character.codePoint};`
}

const joinTexts = (element: Element | undefined): string =>
  element ? DomUtils.getElementsByTagName('w:t', element).map(DomUtils.textContent).join('') : ''

/** Writes a check box or the selected item of a list in a form. */
function writeChoice(field: Element): string | undefined {
  const form = findChild(field, 'w:ffData')
  const box = findChild(form, 'w:checkBox')
  if (box) {
    const checked = findChild(box, 'w:checked') ?? findChild(box, 'w:default')
    return checked && !isOff(checked) ? '☒' : '☐'
  }
  const choices = findChild(form, 'w:ddList')
  const chosen = Number(
    attributeOf(findChild(choices, 'w:result')) ?? attributeOf(findChild(choices, 'w:default')) ?? 0,
  )
  return attributeOf(findChildren(choices, 'w:listEntry')[chosen])
}

function findDescription(drawing: Element): string | undefined {
  const [properties] = DomUtils.getElementsByTagName('wp:docPr', drawing, true, 1)
  const description = attributeOf(properties, 'descr')?.trim()
  return description ? `[Picture: ${description}]` : undefined
}

interface Level {
  format: string
  /** Format of the label, with `%1` to `%9` for the numbers of the levels. */
  text: string
  start: number
  /** True if the numbers of all levels are written as digits. */
  isLegal: boolean
  style: string | undefined
}

interface List {
  /** Lists with the same definition share their counts. */
  definition: string
  /** Start values of this list, by level. */
  starts: Map<number, number>
}

interface Style {
  basedOn: string | undefined
  list: string | undefined
  level: number | undefined
}

const MAX_LEVELS = 9
const MAX_STYLES = 20

/** Counts the numbered paragraphs of a Word document and writes their labels. */
class WordNumbers {
  readonly #definitions = new Map<string, Map<number, Level>>()
  readonly #lists = new Map<string, List>()
  readonly #styles = new Map<string, Style>()
  readonly #counts = new Map<string, (number | undefined)[]>()
  readonly #startedLevels = new Set<string>()

  constructor(numbering: Document | undefined, styles: Document | undefined) {
    for (const style of findOptionalElements('w:style', styles)) this.#addStyle(style)
    for (const definition of findOptionalElements('w:abstractNum', numbering)) this.#addDefinition(definition)
    for (const list of findOptionalElements('w:num', numbering)) this.#addList(list)
    for (const definition of findOptionalElements('w:abstractNum', numbering)) this.#linkDefinition(definition)
  }

  /** Returns the label of a paragraph with these properties, such as "§ 3", "1.2." or "-"; undefined if it has none. */
  writeLabel(properties: Element | undefined): string | undefined {
    const numbering = findChild(properties, 'w:numPr')
    const style = attributeOf(findChild(properties, 'w:pStyle'))
    const listId = attributeOf(findChild(numbering, 'w:numId')) ?? this.#findNumberedStyle(style)?.list
    const list = listId === undefined ? undefined : this.#lists.get(listId)
    const levels = list && this.#definitions.get(list.definition)
    if (listId === undefined || !list || !levels) return undefined
    const at = readLevelNumber(findChild(numbering, 'w:ilvl')) ?? this.#findStyleLevel(style, levels)
    const level = levels.get(at)
    if (!level) return undefined
    const counts = this.#count(listId, list, at, levels)
    return level.format === 'bullet' ? `${'  '.repeat(at)}-` : fillLabel(level, levels, counts)
  }

  #count(name: string, { definition, starts }: List, at: number, levels: ReadonlyMap<number, Level>) {
    const counts = this.#counts.get(definition) ?? []
    this.#counts.set(definition, counts)
    const start = starts.get(at)
    const isRestarted = start !== undefined && !this.#startedLevels.has(`${name} ${at}`)
    this.#startedLevels.add(`${name} ${at}`)
    const last = counts[at]
    counts[at] = isRestarted || last === undefined ? (start ?? levels.get(at)?.start ?? 1) : last + 1
    counts.length = at + 1
    return counts
  }

  #findNumberedStyle(name: string | undefined): Style | undefined {
    let style = name === undefined ? undefined : this.#styles.get(name)
    for (let depth = 0; style && style.list === undefined && depth < MAX_STYLES; depth++)
      style = style.basedOn === undefined ? undefined : this.#styles.get(style.basedOn)
    return style
  }

  #findStyleLevel(name: string | undefined, levels: ReadonlyMap<number, Level>): number {
    for (const [at, { style }] of levels) if (style !== undefined && style === name) return at
    return this.#findNumberedStyle(name)?.level ?? 0
  }

  #addStyle(style: Element): void {
    const id = style.attribs['w:styleId']
    const numbered = findChild(findChild(style, 'w:pPr'), 'w:numPr')
    const [list, level] = [attributeOf(findChild(numbered, 'w:numId')), readLevelNumber(findChild(numbered, 'w:ilvl'))]
    if (id !== undefined) this.#styles.set(id, { basedOn: attributeOf(findChild(style, 'w:basedOn')), list, level })
  }

  #addDefinition(definition: Element): void {
    const id = definition.attribs['w:abstractNumId']
    if (id !== undefined) this.#definitions.set(id, new Map(findChildren(definition, 'w:lvl').flatMap(toLevel)))
  }

  #addList(list: Element): void {
    const definition = attributeOf(findChild(list, 'w:abstractNumId'))
    const id = list.attribs['w:numId']
    if (id === undefined || definition === undefined) return
    const overrides = findChildren(list, 'w:lvlOverride')
    const starts = overrides.flatMap((override): [number, number][] => {
      const start = attributeOf(findChild(override, 'w:startOverride'))
      return start === undefined ? [] : [[Number(override.attribs['w:ilvl']), Number(start)]]
    })
    this.#lists.set(id, { definition, starts: new Map(starts) })
    // A list with levels of its own has its own counts.
    const levels = overrides.flatMap((override) => findChildren(override, 'w:lvl')).flatMap(toLevel)
    if (levels.length === 0) return
    const name = `of list ${id}`
    this.#definitions.set(name, new Map([...(this.#definitions.get(definition) ?? []), ...levels]))
    this.#lists.set(id, { definition: name, starts: new Map(starts) })
  }

  /** A definition may refer to a style, which refers to a list. */
  #linkDefinition(definition: Element): void {
    const [id, link] = [definition.attribs['w:abstractNumId'], attributeOf(findChild(definition, 'w:numStyleLink'))]
    const list = link === undefined ? undefined : this.#styles.get(link)?.list
    const levels = list === undefined ? undefined : this.#definitions.get(this.#lists.get(list)?.definition ?? '')
    if (id !== undefined && levels) this.#definitions.set(id, levels)
  }
}

const findOptionalElements = (name: string, document: Document | undefined) =>
  document ? DomUtils.getElementsByTagName(name, document) : []

function readLevelNumber(element: Element | undefined): number | undefined {
  const level = Number(attributeOf(element))
  return Number.isInteger(level) && level >= 0 && level < MAX_LEVELS ? level : undefined
}

function toLevel(level: Element): [number, Level][] {
  const at = Number(level.attribs['w:ilvl'] ?? 0)
  const start = Number(attributeOf(findChild(level, 'w:start')) ?? 1)
  const legal = findChild(level, 'w:isLgl')
  return [
    [
      at,
      {
        format: attributeOf(findChild(level, 'w:numFmt')) ?? 'decimal',
        text: attributeOf(findChild(level, 'w:lvlText')) ?? '',
        start: Number.isSafeInteger(start) ? start : 1,
        isLegal: legal !== undefined && !isOff(legal),
        style: attributeOf(findChild(level, 'w:pStyle')),
      },
    ],
  ]
}

const isOff = (element: Element): boolean => ['0', 'false', 'off'].includes(attributeOf(element) ?? '')

function fillLabel(
  { text, isLegal }: Level,
  levels: ReadonlyMap<number, Level>,
  counts: readonly (number | undefined)[],
) {
  const label = text.replace(/%([1-9])/g, (_, digit: string) => {
    const at = Number(digit) - 1
    const level = levels.get(at)
    return formatCount(counts[at] ?? level?.start ?? 1, isLegal ? 'decimal' : (level?.format ?? 'decimal'))
  })
  return label.trim() || undefined
}

function formatCount(count: number, format: string): string {
  if (format === 'none' || format === 'bullet') return ''
  if (format === 'decimalZero') return `${count}`.padStart(2, '0')
  const written = format.endsWith('Letter') ? toLetters(count) : format.endsWith('Roman') ? toRoman(count) : `${count}`
  return format.startsWith('lower') ? written.toLowerCase() : written
}

/** A to Z, then AA to ZZ. */
function toLetters(count: number): string {
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

function toRoman(count: number): string {
  if (count < 1 || count > 3999) return `${count}`
  let rest = count
  return numerals.reduce((written, [value, numeral]) => {
    const times = Math.floor(rest / value)
    rest -= times * value
    return written + numeral.repeat(times)
  }, '')
}
