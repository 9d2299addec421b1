import type { PassingEvent } from '../../../client/live/index.ts'
import type { StreamPart } from '../shared/api/types.ts'
import type { Answer } from '../shared/conversation/answer.ts'
import { AnswerBuilder } from '../shared/conversation/answer-builder.ts'

const PROGRESS = 'room-disclosures.progress'

/** A part of a streaming answer. */
interface Progress {
  number: number
  /** True if the parts contain the whole answer so far. */
  isWhole: boolean
  parts: StreamPart[]
}

interface StreamingAnswer {
  builder: AnswerBuilder
  number: number
}

/** The streaming answers of a room by the ids of their disclosures. */
export class StreamingAnswers {
  readonly #decrypt: (sealed: string) => Promise<string>
  readonly #streaming = new Map<string, StreamingAnswer>()
  #answers: ReadonlyMap<string, Answer> = new Map()
  #decrypting: Promise<unknown> = Promise.resolve()

  constructor(decrypt: (sealed: string) => Promise<string>) {
    this.#decrypt = decrypt
  }

  /** The answers. The map is a new object after each change. */
  get answers(): ReadonlyMap<string, Answer> {
    return this.#answers
  }

  /** Adds a part to its answer. After a gap it waits until the whole answer is sent again. */
  apply({ kind, subject, content }: PassingEvent, show: () => void): void {
    if (kind !== PROGRESS) return
    const add = async () => {
      const { number, isWhole, parts } = JSON.parse(await this.#decrypt(content)) as Progress
      const known = this.#streaming.get(subject)
      if (!isWhole && known?.number !== number - 1) return
      const builder = isWhole || !known ? new AnswerBuilder() : known.builder
      for (const part of parts) builder.add(part)
      this.#streaming.set(subject, { builder, number })
      this.#answers = new Map(this.#answers).set(subject, builder.answer)
      show()
    }
    // Decrypts the parts in order. A part whose key is missing is skipped, and the whole answer is sent again later.
    this.#decrypting = this.#decrypting.then(add).catch(() => {})
  }

  /** Forgets the answers that have ended. */
  retain(ids: ReadonlySet<string>): void {
    for (const id of this.#streaming.keys()) if (!ids.has(id)) this.#streaming.delete(id)
    const running = [...this.#answers].filter(([id]) => ids.has(id))
    if (running.length < this.#answers.size) this.#answers = new Map(running)
  }
}
