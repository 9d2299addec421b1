import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inflate } from 'node:zlib'

/** Objects may be packed: a dictionary that says so, and then a stream. */
const PACKED = '/ObjStm'
const MAX_DICTIONARY = 4096
const MAX_PACKED = 1_000_000
const MAX_UNPACKED = 4_000_000
const MAX_STREAMS = 2000
const MAX_ALL_UNPACKED = 50_000_000
/** How much of what is unpacked is looked at in one go, in bytes. */
const SLICE = 65_536

const unpack = promisify<Buffer, { maxOutputLength: number }, Buffer>(inflate)

/**
 * How many pages a PDF has, by its own count and by the pages that are in it; undefined where these cannot be seen, or
 * only with more work than is allowed. Reads it in pieces, of which few are kept.
 */
export async function countPdfPages(content: AsyncIterable<Buffer>): Promise<number | undefined> {
  const pages = new PageCount()
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of content) {
    rest = await pages.read(Buffer.concat([rest, piece]))
    if (pages.isHidden) return undefined
  }
  return pages.end(rest)
}

class PageCount {
  isHidden = false
  readonly #tree = new PageTree()
  #streams = 0
  #unpacked = 0

  /** Returns what is to be read again, before what comes next. */
  async read(bytes: Buffer): Promise<Buffer> {
    let from = 0
    for (let at = bytes.indexOf(PACKED); at >= 0 && !this.isHidden; at = bytes.indexOf(PACKED, from)) {
      const stream = streamAfter(bytes, at)
      this.#tree.look(bytes.subarray(from, at))
      if (!stream) {
        this.isHidden = bytes.length - at > MAX_DICTIONARY + MAX_PACKED
        return bytes.subarray(at)
      }
      await this.#lookInto(bytes.subarray(stream.begin, stream.end))
      from = stream.end
    }
    const end = Math.max(from, bytes.length - LOOKAHEAD)
    return bytes.subarray(from + this.#tree.look(bytes.subarray(from), end - from))
  }

  end(rest: Buffer): number | undefined {
    this.#tree.look(rest)
    const isSeen = !this.isHidden && !rest.includes(PACKED)
    return (isSeen && this.#tree.pages) || undefined
  }

  async #lookInto(packed: Buffer): Promise<void> {
    const isAllowed = ++this.#streams <= MAX_STREAMS && this.#unpacked <= MAX_ALL_UNPACKED
    const objects = isAllowed ? await unpack(packed, { maxOutputLength: MAX_UNPACKED }).catch(() => noBytes) : noBytes
    // It begins with the numbers of its objects.
    this.isHidden = !/^\s*\d/.test(objects.toString('latin1', 0, 100))
    this.#unpacked += objects.length
    await this.#lookThrough(objects)
  }

  /** In slices, between which other requests have their turn. */
  async #lookThrough(objects: Buffer): Promise<void> {
    for (let from = 0; from < objects.length; await setImmediate()) {
      const slice = objects.subarray(from, from + SLICE + LOOKAHEAD)
      from += this.#tree.look(slice, Math.min(SLICE, slice.length))
    }
  }
}

const noBytes = Buffer.alloc(0)

/** Where the stream of a dictionary is; undefined where its end is not there yet. */
function streamAfter(bytes: Buffer, dictionary: number): { begin: number; end: number } | undefined {
  const keyword = bytes.indexOf('stream', dictionary)
  const begin = keyword + (bytes[keyword + 6] === 13 ? 8 : 7)
  const end = keyword < 0 ? -1 : bytes.indexOf('endstream', begin)
  return end < 0 ? undefined : { begin, end }
}

const marks = /\/(?:Type\s{0,8}\/Page|Kids)(?![^\s/<>[\](){}%])|\/Count\s{0,8}\d{1,9}(?!\d|\s{1,4}\d{1,9}\s{1,4}R)/g

/** What is looked at twice, in bytes: neither a mark nor a text is longer. */
const LOOKAHEAD = 1024

/** Bytes of streams may look like dictionaries that never end. */
const MAX_DEPTH = 64
const [BEGINS, ENDS] = [...Buffer.from('<>')]

/** One with kids is a part of the tree of pages; bookmarks have counts, too, and no kids. */
interface Dictionary {
  hasKids: boolean
  count: number
}

/** The pages that are in a PDF, and its own counts of them. */
class PageTree {
  #found = 0
  #told = 0
  readonly #open: Dictionary[] = []

  get pages(): number {
    return Math.max(this.#found, this.#told)
  }

  /** Reads what begins before the end, which may be cut there; returns where to go on. */
  look(bytes: Buffer, end = bytes.length): number {
    let at = 0
    for (const { index, 0: mark } of bytes.toString('latin1').matchAll(marks)) {
      if (index >= end) break
      at = this.#readBrackets(bytes, at, index)
      if (mark.startsWith('/Type')) this.#found++
      else if (at === index) this.#tell(mark)
      at = Math.max(at, index + mark.length)
    }
    return Math.max(end, this.#readBrackets(bytes, at, end))
  }

  /** Returns where to go on, which is behind the end where a text is. */
  #readBrackets(bytes: Buffer, from: number, end: number): number {
    let at = from
    while (at < end) {
      const byte = bytes[at]
      if ((byte === BEGINS || byte === ENDS) && bytes[at + 1] === byte) {
        this.#nest(byte === BEGINS)
        at += 2
      } else at = afterText(bytes, at)
    }
    return at
  }

  #nest(begins: boolean): void {
    if (!begins) this.#open.pop()
    else {
      if (this.#open.length === MAX_DEPTH) this.#open.length = 0
      this.#open.push({ hasKids: false, count: 0 })
    }
  }

  #tell(mark: string): void {
    const dictionary = this.#open.at(-1)
    if (!dictionary) return
    if (mark === '/Kids') dictionary.hasKids = true
    else dictionary.count = Math.max(dictionary.count, Number(mark.slice('/Count'.length)))
    if (dictionary.hasKids) this.#told = Math.max(this.#told, dictionary.count)
  }
}

const MAX_TEXT = 1000
const [OPENS, CLOSES, BACKSLASH, E, N] = [...Buffer.from('()\\en')]

/**
 * Where to go on behind a text that begins here, or one byte further. A text in which an object would end is none: it
 * began in a stream. Escaped brackets begin no text, so that no two are looked for in the same place.
 */
function afterText(bytes: Buffer, from: number): number {
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
