import { hex } from 'dingbat-to-unicode'
import { strFromU8, strToU8, unzipSync, zipSync } from 'fflate'
import { DomUtils } from 'htmlparser2'
import type { Collector } from './collector.ts'
import { isOff, WordNumbers } from './word-numbers.ts'
import { attributeOf, childOf, childrenOf, type Document, type Element, parseXml, writeXml } from './xml.ts'

/** Parts with text: the document, its notes, comments, headers and footers. */
const withText = /^word\/(?:document|footnotes|endnotes|comments|header|footer)\d*\.xml$/

/**
 * Writes as text into a Word document what its reader passes over: the numbers of lists and headings, tick boxes, choices,
 * symbols, readings above characters, and descriptions of pictures.
 */
export function spellOut(bytes: Buffer, text: Collector): Buffer {
  const parts = unzipSync(bytes, { filter: ({ name }) => /\.(?:xml|rels)$/.test(name) || /^word\/afchunk/i.test(name) })
  const parse = (name: string) => parts[name] && parseXml(strFromU8(parts[name]))
  const numbers = new WordNumbers(parse('word/numbering.xml'), parse('word/styles.xml'))
  for (const [name, part] of Object.entries(parts)) {
    if (!withText.test(name)) continue
    const document = parseXml(strFromU8(part))
    for (const paragraph of elements(document, 'w:p')) number(paragraph, numbers)
    for (const element of elements(document, ...Object.keys(spelled))) spell(element, text)
    parts[name] = strToU8(writeXml(document))
  }
  return Buffer.from(zipSync(parts, { level: 0 }))
}

const elements = (document: Document, ...names: string[]): Element[] =>
  DomUtils.getElementsByTagName((name) => names.includes(name), document)

/** Puts the number of a paragraph into it, and takes away what says that it has one. */
function number(paragraph: Element, numbers: WordNumbers): void {
  const properties = childOf(paragraph, 'w:pPr')
  const isDeleted = childOf(childOf(properties, 'w:rPr'), 'w:del') !== undefined
  const label = isDeleted ? undefined : numbers.writeLabel(properties)
  for (const numbered of childrenOf(properties, 'w:numPr')) DomUtils.removeElement(numbered)
  if (label === undefined || !properties) return
  const run = parseXml(`<w:r>${textElement(`${label} `)}</w:r>`).children[0]
  if (run) DomUtils.append(properties, run)
}

const textElement = (text: string) => `<w:t xml:space="preserve">${text}</w:t>`

/** What stands for an element in a run, as it is written in XML; undefined where nothing does. */
const spelled: Record<string, (element: Element, text: Collector) => string | undefined> = {
  'w:noBreakHyphen': () => '\u2011',
  'w:sym': writeSymbol,
  'w:ruby': (ruby) => `${textsIn(childOf(ruby, 'w:rubyBase'))}(${textsIn(childOf(ruby, 'w:rt'))})`,
  'w:fldChar': writeChoice,
  'w:drawing': findDescription,
}

function spell(element: Element, text: Collector): void {
  const found = spelled[element.name]?.(element, text)
  const spelledOut = found === undefined ? undefined : parseXml(textElement(found)).children[0]
  if (spelledOut) DomUtils.append(element, spelledOut)
}

/** Fonts of symbols may name them in a range of their own. */
function writeSymbol(symbol: Element, text: Collector): string | undefined {
  const font = attributeOf(symbol, 'w:font') ?? ''
  const code = attributeOf(symbol, 'w:char') ?? ''
  const known = hex(font, code) ?? hex(font, code.replace(/^F0/i, ''))
  if (!known) text.note('characters')
  return known && `&#${known.codePoint};`
}

const textsIn = (element: Element | undefined): string =>
  element ? DomUtils.getElementsByTagName('w:t', element).map(DomUtils.textContent).join('') : ''

/** A tick box or a list of choices in a form. */
function writeChoice(field: Element): string | undefined {
  const form = childOf(field, 'w:ffData')
  const box = childOf(form, 'w:checkBox')
  if (box) {
    const checked = childOf(box, 'w:checked') ?? childOf(box, 'w:default')
    return checked && !isOff(checked) ? '☒' : '☐'
  }
  const choices = childOf(form, 'w:ddList')
  const chosen = Number(attributeOf(childOf(choices, 'w:result')) ?? attributeOf(childOf(choices, 'w:default')) ?? 0)
  return attributeOf(childrenOf(choices, 'w:listEntry')[chosen])
}

function findDescription(drawing: Element): string | undefined {
  const [properties] = DomUtils.getElementsByTagName('wp:docPr', drawing, true, 1)
  const description = attributeOf(properties, 'descr')?.trim()
  return description ? `[Picture: ${description}]` : undefined
}
