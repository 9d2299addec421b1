import type { PassingEvent } from '../../../client/live/index.ts'
import type { Answer } from '../shared/answer/answer.ts'
import { AnswerBuilder } from '../shared/answer/answer-builder.ts'
import type { StreamPart } from '../shared/api/client.ts'

const PROGRESS = 'room-disclosures.progress'

/** Some of what a model has said. */
interface Progress {
  number: number
  /** It begins anew with all that there is so far. */
  isWhole: boolean
  parts: StreamPart[]
}

interface StreamingAnswer {
  builder: AnswerBuilder
  number: number
}

/** The answers that models are giving in a room, by their disclosures, as far as they were told. */
export class StreamingAnswers {
  readonly #open: (sealed: string) => Promise<string>
  readonly #streaming = new Map<string, StreamingAnswer>()
  #answers: ReadonlyMap<string, Answer> = new Map()
  #opening: Promise<unknown> = Promise.resolve()

  constructor(open: (sealed: string) => Promise<string>) {
    this.#open = open
  }

  /** Always another object once one has grown. */
  get answers(): ReadonlyMap<string, Answer> {
    return this.#answers
  }

  /** Takes what is told in passing. Behind a gap nothing is shown until all is told again. */
  apply({ kind, subject, content }: PassingEvent, show: () => void): void {
    if (kind !== PROGRESS) return
    const add = async () => {
      const { number, isWhole, parts } = JSON.parse(await this.#open(content)) as Progress
      const known = this.#streaming.get(subject)
      if (!isWhole && known?.number !== number - 1) return
      const builder = isWhole || !known ? new AnswerBuilder() : known.builder
      for (const part of parts) builder.add(part)
      this.#streaming.set(subject, { builder, number })
      this.#answers = new Map(this.#answers).set(subject, builder.answer)
      show()
    }
    // In their order. What was sealed with a key that is not there yet is told again.
    this.#opening = this.#opening.then(add).catch(() => {})
  }

  /** Forgets those that have ended. */
  retain(ids: ReadonlySet<string>): void {
    for (const id of this.#streaming.keys()) if (!ids.has(id)) this.#streaming.delete(id)
    const kept = [...this.#answers].filter(([id]) => ids.has(id))
    if (kept.length < this.#answers.size) this.#answers = new Map(kept)
  }
}
