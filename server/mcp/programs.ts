import type { ServerConfig } from '../../routers/ports/ai/model-config.ts'
import { ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import { Program, type ProgramBounds } from './program.ts'

/** Of all servers together. */
const MAX_AT_ONCE = 16
/** How long a program that failed is left alone: twice as long with each further time. */
const FIRST_PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 300_000

interface Failures {
  count: number
  /** By `performance.now()`. */
  until: number
}

/** The programs that run as tool servers now, each for one session. */
export class Programs {
  readonly #bounds: ProgramBounds
  readonly #configured: () => Promise<readonly ServerConfig[]>
  readonly #failures = new Map<string, Failures>()
  readonly #running = new Set<Program>()

  /** Only the configuration file says what is started, whatever a row of the database holds. */
  constructor(configured: () => Promise<readonly ServerConfig[]>, bounds: ProgramBounds) {
    this.#configured = configured
    this.#bounds = bounds
  }

  /** Gives a program to one use, and kills it at the end. Throws `ToolServerError` where it may not be started now. */
  async with<T>(url: string, use: (program: Program) => Promise<T>): Promise<T> {
    const server = (await this.#configured()).find((server) => server.url === url)
    if (!server || !('program' in server)) throw new ToolServerError('its program is not in the configuration file')
    const { count = 0, until = 0 } = this.#failures.get(url) ?? {}
    if (performance.now() < until) throw new ToolServerError('its program failed, and is not started again so soon')
    if (this.#running.size >= MAX_AT_ONCE) throw new ToolServerError('too many programs of tool servers run already')
    const program = new Program(server.program, this.#bounds)
    this.#running.add(program)
    try {
      return await use(program)
    } finally {
      await program.close()
      this.#running.delete(program)
      if (program.hasFailed) this.#failures.set(url, { count: count + 1, until: performance.now() + pauseAfter(count) })
      else this.#failures.delete(url)
    }
  }

  close(): void {
    for (const program of this.#running) void program.close()
  }
}

const pauseAfter = (count: number) => Math.min(FIRST_PAUSE_MS * 2 ** count, LONGEST_PAUSE_MS)
