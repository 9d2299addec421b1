import type { Services } from '../../core/services.ts'

/** How long a call counts as running of which its process says nothing, and how often that says so, in milliseconds. */
export const LEASE_MS = 15_000
const RENEWAL_MS = 5000

/** The calls of a person that run now, on any replica. Those of a process that dies end with their lease. */
export class RunningCalls {
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
