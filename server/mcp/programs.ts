import type { ServerConfig } from '../../routers/ports/ai/server-config.ts'
import { ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import { Program, type ProgramBounds } from './program.ts'

/** Of all servers together, and of those that run for the same person. */
const MAX_AT_ONCE = 16
const MAX_PER_PERSON = 4
/** How long a program that failed is left alone: twice as long with each further time. */
const FIRST_PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 300_000

interface Failures {
  count: number
  /** By `performance.now()`. */
  until: number
}

/** For whom a program runs, and until when; no person is named where it is asked what it offers. */
interface ProgramUse {
  person: number | undefined
  signal: AbortSignal
}

/** The programs that run as tool servers now, each for one session. */
export class Programs {
  readonly #bounds: ProgramBounds
  readonly #configured: () => Promise<readonly ServerConfig[]>
  readonly #failures = new Map<string, Failures>()
  /** By whom. */
  readonly #running = new Map<Program, ProgramUse['person']>()

  /** Only the configuration file says what is started, whatever a row of the database holds. */
  constructor(configured: () => Promise<readonly ServerConfig[]>, bounds: ProgramBounds) {
    this.#configured = configured
    this.#bounds = bounds
  }

  /** Gives a program to one use, and kills it at the end. Throws `ToolServerError` where it may not be started now. */
  async with<T>(url: string, { person, signal }: ProgramUse, use: (program: Program) => Promise<T>): Promise<T> {
    const server = (await this.#configured()).find((server) => server.url === url)
    if (!server || !('program' in server)) throw new ToolServerError('its program is not in the configuration file')
    if (performance.now() < (this.#failures.get(url)?.until ?? 0))
      throw new ToolServerError('its program failed, and is not started again so soon')
    this.#assertRoom(person)
    const program = new Program(server.program, this.#bounds)
    this.#running.set(program, person)
    try {
      return await use(program)
    } finally {
      await program.close()
      this.#running.delete(program)
      // A caller who goes away says nothing about the program.
      if (program.hasFailed || !(program.hasSpoken || signal.aborted)) this.#noteFailure(url)
      else if (program.hasSpoken) this.#failures.delete(url)
    }
  }

  #assertRoom(person: ProgramUse['person']): void {
    if (this.#running.size >= MAX_AT_ONCE) throw new ToolServerError('too many programs of tool servers run already')
    const own = [...this.#running.values()].filter((other) => person !== undefined && other === person)
    if (own.length >= MAX_PER_PERSON)
      throw new ToolServerError('too many programs of tool servers run already for the same person')
  }

  #noteFailure(url: string): void {
    const { count = 0 } = this.#failures.get(url) ?? {}
    this.#failures.set(url, { count: count + 1, until: performance.now() + pauseAfter(count) })
  }

  close(): void {
    for (const program of this.#running.keys()) void program.close()
  }
}

const pauseAfter = (count: number) => Math.min(FIRST_PAUSE_MS * 2 ** count, LONGEST_PAUSE_MS)
