import { decodeEntity, isAsciiPunctuation } from './characters.ts'
import { type Delimiter, DelimiterStack } from './delimiters.ts'
import { FormulaFinder } from './formulas.ts'
import { type InlineNode, NodeList, toPlainWords } from './inline-nodes.ts'
import { type BareAddress, listBareAddresses, readDestination } from './link-targets.ts'
import type { References } from './references.ts'
import { type Inline, type InlineTag, inlineTags } from './tokens.ts'
import type { WorkBudget } from './work-budget.ts'

export interface InlineContext {
  budget: WorkBudget
  references: References
  /** True for texts of people, whose line breaks are kept. */
  hasLineBreaks: boolean
}

/** A bracket or tag that may be closed later. */
interface Opener {
  node: InlineNode
  /** The index behind it. */
  end: number
  /** The last delimiter before it. */
  bottom: Delimiter | undefined
}

type Bracket = Opener & { isImage: boolean }
type Tag = Opener & { name: string }

const PLAIN = /[^\\`*_~[\]!<&\n$]+/y
const ENTITY = /&(#\d{1,7}|#x[\da-f]{1,6}|[a-z][a-z\d]{1,31});/iy
const BREAK_TAG = /<br\s{0,9}\/?>/iy
const TAG = /<(\/?)([a-z]{1,6})>/iy
const AUTOLINK = /<([a-z][a-z\d+.-]{1,31}:[^\s<>]*|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})>/iy
const FORMULA_REFERENCE = /\\(?:eq)?ref\{([^{}\n]{1,100})\}/y
/** The most characters of a label, as CommonMark says. */
const MAX_LABEL = 999

/** Parses the text of a paragraph, heading or cell. */
export const parseInline = (text: string, context: InlineContext): Inline[] => new InlineParser(text, context).parse()

class InlineParser {
  readonly #text: string
  readonly #context: InlineContext
  readonly #nodes: NodeList
  readonly #delimiters: DelimiterStack
  readonly #formulas: FormulaFinder
  readonly #addresses: BareAddress[]
  readonly #brackets: Bracket[] = []
  readonly #tags: Tag[] = []
  readonly #openTags = new Map<string, number>()
  #codeEnds: Map<number, number[]> | undefined
  #nextAddress = 0
  #plainEnd = 0
  #at = 0

  constructor(text: string, context: InlineContext) {
    const { budget } = context
    this.#text = text
    this.#context = context
    this.#nodes = new NodeList(budget)
    this.#delimiters = new DelimiterStack(this.#nodes, budget)
    this.#formulas = new FormulaFinder(text, budget)
    // Three passes: for addresses, for code, and for everything else.
    budget.takeSteps(3 * text.length + 1)
    this.#addresses = listBareAddresses(text)
  }

  parse(): Inline[] {
    while (this.#at < this.#text.length) {
      this.#context.budget.takeSteps(1)
      if (!this.#readBareAddress() && !this.#readMark()) this.#readPlain()
    }
    this.#delimiters.close(undefined)
    return this.#nodes.toContent()
  }

  #readPlain(): void {
    if (this.#plainEnd <= this.#at) this.#plainEnd = this.#at + (this.#match(PLAIN)?.[0].length ?? 1)
    const nextStart = this.#addresses[this.#nextAddress]?.start ?? this.#text.length
    const end = Math.min(this.#plainEnd, Math.max(nextStart, this.#at + 1))
    this.#nodes.append(this.#text.slice(this.#at, end))
    this.#at = end
  }

  #readBareAddress(): boolean {
    let address = this.#addresses[this.#nextAddress]
    while (address && address.start < this.#at) address = this.#addresses[++this.#nextAddress]
    if (address?.start !== this.#at) return false
    const words = this.#text.slice(address.start, address.end)
    this.#nodes.append({ type: 'link', href: address.href, words, content: [words] })
    this.#at = address.end
    this.#nextAddress++
    return true
  }

  /** Reads a mark of Markdown; returns false if the character here is none. */
  #readMark(): boolean {
    switch (this.#text[this.#at]) {
      case '\\':
        return this.#readBackslash()
      case '`':
        return this.#readCode()
      case '*':
      case '_':
      case '~':
        this.#at = this.#delimiters.add(this.#text, this.#at)
        return true
      case '[':
        return this.#openBracket('[')
      case '!':
        return this.#text[this.#at + 1] === '[' && this.#openBracket('![')
      case ']':
        return this.#closeBracket()
      case '<':
        return this.#readAngle()
      case '&':
        return this.#readEntity()
      case '$':
        return this.#readFormula() || this.#appendText(this.#text[this.#at + 1] === '$' ? '$$' : '$')
      case '\n':
        return this.#readLineEnd()
      default:
        return false
    }
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#at
    return pattern.exec(this.#text)
  }

  #appendText(text: string, length = text.length): true {
    this.#nodes.append(text)
    this.#at += length
    return true
  }

  #readBackslash(): boolean {
    if (this.#readFormula()) return true
    const reference = this.#match(FORMULA_REFERENCE)
    if (reference) {
      this.#nodes.append(this.#context.references.labels.addReference(reference[1] ?? ''))
      this.#at += reference[0].length
      return true
    }
    const next = this.#text[this.#at + 1] ?? ''
    if (next === '\n') {
      this.#nodes.append({ type: 'break' })
      this.#at += 2
      return true
    }
    return isAsciiPunctuation(next) ? this.#appendText(next, 2) : this.#appendText('\\')
  }

  #readFormula(): boolean {
    const found = this.#formulas.find(this.#at)
    if (!found) return false
    this.#context.budget.takeFormula(found.formula.tex)
    this.#nodes.append(this.#context.references.labels.add(found.formula))
    this.#at = found.end
    return true
  }

  #readCode(): true {
    let start = this.#at
    while (this.#text[start] === '`') start++
    const length = start - this.#at
    this.#codeEnds ??= listCodeEnds(this.#text)
    const ends = this.#codeEnds.get(length) ?? []
    while (ends.length > 0 && (ends.at(-1) as number) < start) ends.pop()
    const end = ends.at(-1)
    if (end === undefined) return this.#appendText('`'.repeat(length))
    const code = this.#text.slice(start, end).replaceAll('\n', ' ')
    const text = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== '' ? code.slice(1, -1) : code
    this.#nodes.append({ type: 'code', text })
    this.#at = end + length
    return true
  }

  #openBracket(mark: '[' | '!['): true {
    const bottom = this.#delimiters.last
    const node = this.#nodes.append(mark)
    this.#at += mark.length
    this.#brackets.push({ node, end: this.#at, bottom, isImage: mark === '![' })
    return true
  }

  #closeBracket(): true {
    const bracket = this.#brackets.pop()
    const target = bracket && this.#findTarget(bracket)
    if (!bracket || !target) return this.#appendText(']')
    this.#delimiters.close(bracket.bottom)
    if ('note' in target) this.#nodes.replaceFrom(bracket.node, target.note)
    else if (!this.#buildLink(bracket, target.href)) return this.#appendText(']')
    this.#at = target.end
    this.#forgetOpenersBehind(bracket, this.#tags)
    return true
  }

  /** Finds the address of a link or the footnote whose words end here. */
  #findTarget({ end: start }: Bracket) {
    const { budget, references } = this.#context
    const [text, behind] = [this.#text, this.#at + 1]
    if (text[behind] === '(') {
      const destination = readDestination(text, behind, budget)
      if (destination) return destination
    }
    return references.isEmpty ? undefined : this.#findReference(start, behind)
  }

  /** Finds what a label stands for: a footnote, or the address of a link. */
  #findReference(start: number, behind: number) {
    const { budget, references } = this.#context
    const ownLabel = this.#at - start <= MAX_LABEL ? this.#text.slice(start, this.#at) : ''
    budget.takeSteps(ownLabel.length)
    if (ownLabel.startsWith('^')) {
      const note = references.citeNote(ownLabel.slice(1))
      return note && { note, end: behind }
    }
    const label = this.#text[behind] === '[' ? this.#matchLabel(behind) : undefined
    const href = references.findAddress(label?.[1] || ownLabel)
    return href === undefined ? undefined : { href, end: behind + (label?.[0].length ?? 0) }
  }

  #matchLabel(index: number): RegExpExecArray | null {
    const pattern = /\[((?:\\.|[^[\]\\]){0,999})\]/y
    pattern.lastIndex = index
    const match = pattern.exec(this.#text)
    this.#context.budget.takeSteps(match?.[0].length ?? MAX_LABEL)
    return match
  }

  #buildLink({ node, isImage }: Bracket, href: string): boolean {
    return this.#nodes.wrapFrom(node, (content) => {
      const words = toPlainWords(content)
      return isImage ? { type: 'image', href, text: words } : { type: 'link', href, words, content }
    })
  }

  #readAngle(): true {
    if (this.#match(BREAK_TAG)) {
      this.#nodes.append({ type: 'break' })
      this.#at += this.#match(BREAK_TAG)?.[0].length ?? 1
      return true
    }
    const tag = this.#match(TAG)
    if (tag && this.#readTag(tag[0], tag[1] === '/', tag[2]?.toLowerCase() ?? '')) return true
    const link = this.#match(AUTOLINK)
    if (!link) return this.#appendText('<')
    const words = link[1] ?? ''
    const href = /^[\w.+-]+@/.test(words) ? `mailto:${words}` : words
    this.#nodes.append({ type: 'link', href, words, content: [words] })
    this.#at += link[0].length
    return true
  }

  /** Reads one of the few tags that are shown as elements. */
  #readTag(whole: string, isClosing: boolean, name: string): boolean {
    const type: InlineTag | undefined = Object.hasOwn(inlineTags, name)
      ? inlineTags[name as keyof typeof inlineTags]
      : undefined
    if (!type) return false
    const open = this.#openTags.get(name) ?? 0
    if (!isClosing) {
      const bottom = this.#delimiters.last
      const node = this.#nodes.append(whole)
      this.#at += whole.length
      this.#tags.push({ node, end: this.#at, bottom, name })
      this.#openTags.set(name, open + 1)
      return true
    }
    if (open === 0) return false
    let opener = this.#popTag()
    while (opener && opener.name !== name) opener = this.#popTag()
    if (!opener) return false
    this.#delimiters.close(opener.bottom)
    if (!this.#nodes.wrapFrom(opener.node, (content) => ({ type, content }))) return false
    this.#at += whole.length
    this.#forgetOpenersBehind(opener, this.#brackets)
    return true
  }

  #popTag(): Tag | undefined {
    const tag = this.#tags.pop()
    if (tag) this.#openTags.set(tag.name, (this.#openTags.get(tag.name) ?? 1) - 1)
    return tag
  }

  /** Forgets what was opened within an element that is closed now. */
  #forgetOpenersBehind({ end }: Opener, openers: Opener[]): void {
    while (openers.length > 0 && (openers.at(-1) as Opener).end > end) {
      if (openers === this.#tags) this.#popTag()
      else openers.pop()
    }
  }

  #readEntity(): true {
    const match = this.#match(ENTITY)
    if (!match) return this.#appendText('&')
    const [whole, reference = ''] = match
    const character = decodeEntity(reference)
    if (character !== undefined) return this.#appendText(character, whole.length)
    this.#nodes.append({ type: 'entity', name: reference })
    this.#at += whole.length
    return true
  }

  /** Ends a line: hard after two blanks and in texts of people, as a blank otherwise. */
  #readLineEnd(): true {
    const { last } = this.#nodes
    let isHard = this.#context.hasLineBreaks
    if (typeof last?.value === 'string') {
      isHard ||= last.value.endsWith('  ')
      last.value = last.value.trimEnd()
    }
    this.#nodes.append(isHard ? { type: 'break' } : '\n')
    this.#at++
    return true
  }
}

/** Lists the ends of code by the number of back-ticks, the first one last. */
function listCodeEnds(text: string): Map<number, number[]> {
  const ends = new Map<number, number[]>()
  for (const { 0: ticks, index } of text.matchAll(/`+/g)) {
    const same = ends.get(ticks.length)
    if (same) same.push(index)
    else ends.set(ticks.length, [index])
  }
  for (const indexes of ends.values()) indexes.reverse()
  return ends
}
