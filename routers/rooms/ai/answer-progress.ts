import type { StreamPart } from '../../ai/answer.ts'
import type { PassingEvent } from '../../ports/change-streams.ts'

/** The least time between two pieces of an answer, and between two that repeat all of it, for whoever came late. */
const [TELL_MS, REPEAT_MS] = [250, 2000]
/** Characters of what is repeated at most. */
const MAX_REPEATED = 48_000

export const PROGRESS = 'room-disclosures.progress'

interface ProgressOptions {
  /** The id of the disclosure. */
  id: number
  seal: (content: string) => string
  tell: (event: PassingEvent) => void
}

/** Tells a room in passing how an answer grows. Nobody but its members can read it. */
export class AnswerProgress {
  readonly #options: ProgressOptions
  /** All parts so far, with pieces of text that follow one another as one. */
  readonly #parts: StreamPart[] = []
  #length = 0
  #untold: StreamPart[] = []
  #number = 0
  #toldAt = 0
  #repeatedAt = Date.now()
  #timer: NodeJS.Timeout | undefined

  constructor(options: ProgressOptions) {
    this.#options = options
  }

  add(part: StreamPart): void {
    append(this.#untold, part)
    append(this.#parts, part)
    this.#length += part.type === 'delta' ? part.text.length : JSON.stringify(part).length
    // A question waits for a person.
    const wait = part.type === 'approval' ? 0 : Math.max(0, this.#toldAt + TELL_MS - Date.now())
    if (wait === 0) this.#tell()
    else this.#timer ??= setTimeout(() => this.#tell(), wait)
  }

  /** The message that follows has what was not sent by now. */
  stop(): void {
    clearTimeout(this.#timer)
  }

  #tell(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#toldAt = Date.now()
    const repeats = this.#number === 0 || (this.#toldAt - this.#repeatedAt > REPEAT_MS && this.#length <= MAX_REPEATED)
    if (repeats) this.#repeatedAt = this.#toldAt
    const content = { number: this.#number++, isWhole: repeats, parts: repeats ? this.#parts : this.#untold }
    this.#untold = []
    const { id, seal, tell } = this.#options
    tell({ kind: PROGRESS, subject: `${id}`, content: seal(JSON.stringify(content)) })
  }
}

function append(parts: StreamPart[], part: StreamPart): void {
  const last = parts.at(-1)
  if (part.type === 'delta' && last?.type === 'delta')
    parts[parts.length - 1] = { ...last, text: last.text + part.text }
  else parts.push(part)
}
