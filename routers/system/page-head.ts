import { Parser } from 'htmlparser2'

/** The metadata in the head of a page. */
export interface PageHead {
  title: string | undefined
  description: string | undefined
  /** Absolute addresses, the best first. */
  images: string[]
  icons: string[]
}

const MAX_BYTES = 512 * 1024
/** Bounds what one page makes the parser do: it keeps a list of all elements that are open. */
const MAX_ELEMENTS = 5000
const MAX_ADDRESSES = 4
const PART_BYTES = 16 * 1024
/** The first bytes in which a page may declare its charset. */
const CHARSET_BYTES = 1024

type Decoder = InstanceType<typeof TextDecoder>

interface Page {
  url: string
  charset: string | undefined
  body: AsyncIterable<Uint8Array>
}

/** Reads a page as a stream up to the end of its head, or the size limit. */
export async function readHead({ url, charset, body }: Page): Promise<PageHead> {
  const collector = new HeadCollector()
  const parser = new Parser(collector)
  let decoder: Decoder | undefined
  for await (const part of readFirstBytes(body)) {
    decoder ??= createDecoder(charset ?? findCharset(part))
    parser.write(decoder.decode(part, { stream: true }))
    if (collector.isComplete) break
  }
  parser.end()
  return collector.toHead(url)
}

/** Yields small parts, so that the parser can be stopped in time. */
async function* readFirstBytes(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  let bytes = 0
  for await (const chunk of body) {
    const part = chunk.subarray(0, MAX_BYTES - bytes)
    bytes += part.length
    for (let at = 0; at < part.length; at += PART_BYTES) yield part.subarray(at, at + PART_BYTES)
    if (bytes >= MAX_BYTES) return
  }
}

/** An unknown charset is read as UTF-8, and the wrong characters are replaced. */
function createDecoder(charset = 'utf-8'): Decoder {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}

const findCharset = (bytes: Uint8Array) =>
  /<meta[^>]{0,200}charset\s{0,5}=\s{0,5}["']?([\w:.-]{1,40})/i.exec(
    Buffer.from(bytes.subarray(0, CHARSET_BYTES)).toString('latin1'),
  )?.[1]

type Attributes = Record<string, string>

class HeadCollector {
  isComplete = false
  #elements = 0
  #isInTitle = false
  #title = ''
  readonly #meta = new Map<string, string>()
  readonly #icons: string[] = []
  readonly #otherIcons: string[] = []

  onopentag(name: string, attributes: Attributes): void {
    if (name === 'body' || ++this.#elements > MAX_ELEMENTS) this.isComplete = true
    if (this.isComplete) return
    if (name === 'title') this.#isInTitle = this.#title === ''
    if (name === 'meta') this.#addMeta(attributes)
    if (name === 'link') this.#addLink(attributes)
  }

  ontext(text: string): void {
    if (this.#isInTitle && !this.isComplete && this.#title.length < 2000) this.#title += text
  }

  onclosetag(name: string): void {
    if (name === 'title') this.#isInTitle = false
    if (name === 'head') this.isComplete = true
  }

  /** The first of each name counts. */
  #addMeta({ property, name, content = '' }: Attributes): void {
    const key = [property?.toLowerCase(), name?.toLowerCase()].find((word) => word && wantedNames.has(word))
    if (key && !this.#meta.has(key) && content !== '') this.#meta.set(key, content.slice(0, 4096))
  }

  #addLink({ rel = '', href = '' }: Attributes): void {
    const words = rel.toLowerCase().split(/\s+/, 8)
    if (href === '') return
    if (words.includes('icon')) this.#icons.push(href)
    else if (words.some((word) => word.startsWith('apple-touch-icon'))) this.#otherIcons.push(href)
  }

  toHead(url: string): PageHead {
    const findFirst = (...names: string[]) => names.map((name) => this.#meta.get(name)).find(Boolean)
    return {
      title: toPlainText(this.#title || findFirst('og:title', 'twitter:title') || '', 300),
      description: toPlainText(findFirst('og:description', 'twitter:description', 'description') ?? '', 1000),
      images: toAbsoluteUrls(
        imageNames.flatMap((name) => this.#meta.get(name) ?? []),
        url,
      ),
      icons: toAbsoluteUrls([...this.#icons, ...this.#otherIcons], url),
    }
  }
}

/** The best first, wherever they stand in the page. */
const imageNames = ['og:image', 'og:image:url', 'og:image:secure_url', 'twitter:image', 'twitter:image:src']
const textNames = ['og:title', 'twitter:title', 'og:description', 'twitter:description', 'description']
const wantedNames = new Set([...imageNames, ...textNames])

/** Converts a text to one line, without control and bidi characters. */
function toPlainText(text: string, length: number): string | undefined {
  const plain = text
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, '')
    .trim()
  return [...plain.slice(0, 2 * length)].slice(0, length).join('').toWellFormed() || undefined
}

function toAbsoluteUrls(addresses: readonly string[], base: string): string[] {
  const urls = addresses.slice(0, 32).flatMap((address) => {
    const url = address.length <= 4096 && URL.canParse(address, base) ? new URL(address, base).href : ''
    return /^https?:/.test(url) && url.length <= 2048 ? [url] : []
  })
  return [...new Set(urls)].slice(0, MAX_ADDRESSES)
}
