import { Problem } from '../../../routers/core/problems.ts'
import type { Source } from '../../../routers/ports/ai/messages.ts'
import type { StreamPart } from '../../ai/types.ts'
import type { Frames } from '../../http/event-stream.ts'
import { failureOf } from '../../http/failure.ts'

/** What the first line says of an answer. */
interface Head {
  author: { username: string; name: string; avatar_url: string | null }
  model: string
  tools: readonly string[]
}

/** An answer as lines of JSON, the last of which says that it is done. */
export class AiLines implements Frames<StreamPart> {
  /** An empty line, which these front ends pass over. */
  readonly silence = '\n'
  readonly #head: Head
  readonly #requestId: string
  readonly #sources: Source[] = []
  #isBegun = false
  #isThinking = false
  #isRefused = false
  #text = ''

  constructor(head: Head, requestId: string) {
    this.#head = head
    this.#requestId = requestId
  }

  part(part: StreamPart): string {
    return this.#begin() + this.#said(part)
  }

  done(): string {
    if (this.#isRefused && this.#text === '') return this.failed(new Problem('provider_refused'))
    const cited = this.#sources.map((source) => line('citation', citationOf(source)))
    return [this.#begin(), ...cited, line('message', ''), line('completion', this.#text, { isDone: true })].join('')
  }

  failed(thrown: unknown): string {
    const { code, message } = failureOf(thrown)
    const error = { type: 'error', content: message, isDone: true, code, requestId: this.#requestId }
    return `${this.#begin()}${JSON.stringify(error)}\n`
  }

  #begin(): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    return line('header', '', this.#head)
  }

  #said(part: StreamPart): string {
    if (part.type !== 'reasoning') this.#isThinking = false
    switch (part.type) {
      case 'delta':
        this.#text += part.text
        return line('message', part.text)
      case 'reasoning':
        return this.#thought(part.text)
      case 'tool-use':
        return statusLine(part.by === 'provider' ? 'provider_tool_call' : 'tool_call', part.name)
      case 'source':
        this.#sources.push(part)
        return ''
      case 'finish':
        this.#isRefused = part.reason === 'content-filter'
        return ''
      default:
        return ''
    }
  }

  #thought(text: string): string {
    if (!text) return ''
    const begun = this.#isThinking ? '' : statusLine('reasoning', '')
    this.#isThinking = true
    return begun + statusLine('reasoning_delta', text)
  }
}

const line = (type: string, content: unknown, more: object = {}) =>
  `${JSON.stringify({ type, content, isDone: false, status: null, ...more })}\n`

const statusLine = (key: string, value: string) => line('status', '', { status: { key, value } })

/** Where in the text a page is cited, not every provider says. */
function citationOf({ url, title = '', places = [] }: Source) {
  const [first] = places
  const at = first && { start_index: first.start, end_index: first.end }
  return { url, title, ...at, ranges: places.map(({ start, end }) => [start, end]), byteOffset: false }
}
