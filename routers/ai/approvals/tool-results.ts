import type { Services } from '../../core/services.ts'
import type { ToolOutcome } from '../../ports/ai/tools.ts'

const PURPOSE = 'tool-outcome'

/** Characters of one that is kept whole; of all of one person, in as long as they are kept. */
const MAX_TEXT = 64 * 1024
const MAX_KEPT = 2 * 1024 * 1024

/** What a model is told of a call that has begun and must not run again. */
export const UNKNOWN: ToolOutcome = {
  text: 'This call was begun, and what came of it is not known: it may have done its work.',
  isError: true,
}

/** What is kept of an outcome for which there is no room. */
const briefOf = ({ isError }: ToolOutcome): ToolOutcome => ({
  text: isError
    ? 'This call was made and failed; what was told of it is too long to be told again.'
    : 'This call was made; its result is too long to be told again.',
  isError,
})

type Store = Pick<Services, 'answers' | 'kv' | 'limiter' | 'log' | 'notifier' | 'settings' | 'vault'>

/** What comes of calls that a person allowed, for a caller who asks again, as when the connection was lost. */
export class KeptOutcomes {
  readonly #services: Store
  readonly #person: number
  readonly #running: RunningCalls

  constructor(services: Store, person: number) {
    this.#services = services
    this.#person = person
    this.#running = new RunningCalls(services, person)
  }

  /** To be said before anybody else can find that the call was taken, as they would think it lost. */
  expect = (id: string): Promise<void> => this.#running.begin(id)

  /** What comes of the call that runs here. An outcome that cannot be kept is told once. */
  keep(id: string, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    return this.#running.during(id, async () => {
      const outcome = await run()
      await this.#keep(id, outcome).catch((error: unknown) =>
        this.#services.log.warn({ error }, 'what came of a call of a tool was not kept'),
      )
      this.#services.notifier.notify(this.#keyOf(id))
      return outcome
    })
  }

  /** What came of a call that began elsewhere; waits for it while it runs. A process that died tells nobody: its lease ends. */
  async wait(id: string, signal: AbortSignal): Promise<ToolOutcome> {
    const look = async () => {
      // In this order, as a call runs until its outcome is kept.
      const isRunning = await this.#running.has(id)
      return (await this.#find(id)) ?? (isRunning ? undefined : UNKNOWN)
    }
    for (;;) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(LEASE_MS)])
      const outcome = await this.#services.notifier.waitFor([this.#keyOf(id)], look, limit)
      if (outcome) return outcome
      if (signal.aborted) return UNKNOWN
    }
  }

  async #find(id: string): Promise<ToolOutcome | undefined> {
    const { answers, vault } = this.#services
    const sealed = await answers.get(this.#keyOf(id))
    return sealed === undefined ? undefined : (JSON.parse(vault.open(sealed, PURPOSE)) as ToolOutcome)
  }

  async #keep(id: string, outcome: ToolOutcome): Promise<void> {
    const { answers, settings, vault } = this.#services
    const { text, isError } = (await this.#hasRoom(outcome)) ? outcome : briefOf(outcome)
    const sealed = vault.seal(JSON.stringify({ text, isError }), PURPOSE)
    await answers.set(this.#keyOf(id), sealed, settings.tools.questionLifetime)
  }

  async #hasRoom({ text }: ToolOutcome): Promise<boolean> {
    const { limiter, settings } = this.#services
    if (text.length > MAX_TEXT) return false
    const seconds = Math.ceil(settings.tools.questionLifetime / 1000)
    const { remaining } = await limiter.consume(`tool-outcomes:${this.#person}`, MAX_KEPT, seconds, text.length)
    return remaining >= 0
  }

  #keyOf(id: string): string {
    return `tool-outcome:${this.#person}:${id}`
  }
}

/** How long a call counts as running of which its process says nothing, and how often that says so, in milliseconds. */
const LEASE_MS = 15_000
const RENEWAL_MS = 5000

/** The calls of a person that run now, on any replica. Those of a process that dies end with their lease. */
class RunningCalls {
  readonly #services: Pick<Services, 'kv' | 'log'>
  readonly #person: number

  constructor(services: Pick<Services, 'kv' | 'log'>, person: number) {
    this.#services = services
    this.#person = person
  }

  async has(id: string): Promise<boolean> {
    return (await this.#services.kv.get(this.#keyOf(id))) !== undefined
  }

  /** Says that the call runs, for as long as a lease. */
  begin = (id: string): Promise<void> => this.#services.kv.set(this.#keyOf(id), '1', LEASE_MS)

  /** Says so again and again, until the work has ended. */
  async during<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    const renew = () =>
      this.begin(id).catch((error: unknown) => this.#services.log.warn({ error }, 'a call of a tool was not renewed'))
    const timer = setInterval(renew, RENEWAL_MS)
    try {
      return await work()
    } finally {
      clearInterval(timer)
    }
  }

  #keyOf(id: string): string {
    return `tool-running:${this.#person}:${id}`
  }
}
