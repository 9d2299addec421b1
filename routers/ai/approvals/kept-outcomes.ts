import type { Services } from '../../core/services.ts'
import type { ToolOutcome } from '../../ports/ai/approvals.ts'

const PURPOSE = 'tool-outcome'

/** Characters of one; of all of one person, in as long as they are kept. */
const MAX_TEXT = 64 * 1024
const MAX_KEPT = 2 * 1024 * 1024

/** What a model is told of a call that has begun and must not run again. */
export const UNKNOWN: ToolOutcome = {
  text: 'This call was begun, and what came of it is not known: it may have done its work.',
  isError: true,
}

type Store = Pick<Services, 'answers' | 'limiter' | 'log' | 'settings' | 'vault'>

/** What came of calls that a person allowed, for a caller who asks again, as when the connection was lost. */
export class KeptOutcomes {
  readonly #services: Store
  readonly #person: number

  constructor(services: Store, person: number) {
    this.#services = services
    this.#person = person
  }

  /** Fails never: the call ran. */
  async keep(id: string, outcome: ToolOutcome): Promise<void> {
    await this.#keep(id, outcome).catch((error: unknown) =>
      this.#services.log.warn({ error }, 'what came of a call of a tool was not kept'),
    )
  }

  async of(id: string): Promise<ToolOutcome> {
    const { answers, vault } = this.#services
    const sealed = await answers.get(this.#keyOf(id))
    return sealed === undefined ? UNKNOWN : (JSON.parse(vault.open(sealed, PURPOSE)) as ToolOutcome)
  }

  async #keep(id: string, { text, isError }: ToolOutcome): Promise<void> {
    const { answers, limiter, settings, vault } = this.#services
    const { questionLifetime } = settings.tools
    if (text.length > MAX_TEXT) return
    const seconds = Math.ceil(questionLifetime / 1000)
    const { remaining } = await limiter.take(`tool-outcomes:${this.#person}`, MAX_KEPT, seconds, text.length)
    if (remaining < 0) return
    await answers.set(this.#keyOf(id), vault.seal(JSON.stringify({ text, isError }), PURPOSE), questionLifetime)
  }

  #keyOf(id: string): string {
    return `tool-outcome:${this.#person}:${id}`
  }
}
