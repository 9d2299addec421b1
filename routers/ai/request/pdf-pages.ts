import { setImmediate } from 'node:timers/promises'
import { promisify } from 'node:util'
import { inflate } from 'node:zlib'
import { LOOKAHEAD, PageTree } from './pdf-page-tree.ts'

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
export async function pagesOf(content: AsyncIterable<Buffer>): Promise<number | undefined> {
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
