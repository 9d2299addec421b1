import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp'
import type { ProgramConfig, ServerConfig } from '../../routers/ports/ai/mcp-server-config.ts'
import { ToolServerError } from '../../routers/ports/ai/tool-servers.ts'

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
interface ServerUse {
  person: number | undefined
  signal: AbortSignal
}

/** The programs that run as tool servers now, each for one session. */
export class StdioServers {
  readonly #limits: StdioLimits
  readonly #readConfig: () => Promise<readonly ServerConfig[]>
  readonly #failures = new Map<string, Failures>()
  /** By whom. */
  readonly #running = new Map<StdioTransport, ServerUse['person']>()

  /** Only the configuration file says what is started, whatever a row of the database holds. */
  constructor(readConfig: () => Promise<readonly ServerConfig[]>, limits: StdioLimits) {
    this.#readConfig = readConfig
    this.#limits = limits
  }

  /** Gives a program to one use, and kills it at the end. Throws `ToolServerError` where it may not be started now. */
  async withServer<T>(
    url: string,
    { person, signal }: ServerUse,
    use: (program: StdioTransport) => Promise<T>,
  ): Promise<T> {
    const server = (await this.#readConfig()).find((server) => server.url === url)
    if (!server || !('program' in server)) throw new ToolServerError('its program is not in the configuration file')
    if (performance.now() < (this.#failures.get(url)?.until ?? 0))
      throw new ToolServerError('its program failed, and is not started again so soon')
    this.#assertCapacity(person)
    const program = new StdioTransport(server.program, this.#limits)
    this.#running.set(program, person)
    try {
      return await use(program)
    } finally {
      await program.close()
      this.#running.delete(program)
      // A caller who goes away says nothing about the program.
      if (program.hasFailed || !(program.hasResponded || signal.aborted)) this.#recordFailure(url)
      else if (program.hasResponded) this.#failures.delete(url)
    }
  }

  #assertCapacity(person: ServerUse['person']): void {
    if (this.#running.size >= MAX_AT_ONCE) throw new ToolServerError('too many programs of tool servers run already')
    const ofPerson = [...this.#running.values()].filter((other) => person !== undefined && other === person)
    if (ofPerson.length >= MAX_PER_PERSON)
      throw new ToolServerError('too many programs of tool servers run already for the same person')
  }

  #recordFailure(url: string): void {
    const { count = 0 } = this.#failures.get(url) ?? {}
    this.#failures.set(url, { count: count + 1, until: performance.now() + computePause(count) })
  }

  close(): void {
    for (const program of this.#running.keys()) void program.close()
  }
}

const computePause = (count: number) => Math.min(FIRST_PAUSE_MS * 2 ** count, LONGEST_PAUSE_MS)

interface StdioLimits {
  /** Of all that it says in a session. */
  maxBytes: number
  /** Where programs are looked for: the variable PATH. */
  path: string | undefined
}

/** A tool server that is a program of this host, for one session. It sees the variables that the file gives it, and PATH. */
class StdioTransport implements MCPTransport {
  readonly #config: ProgramConfig
  readonly #limits: StdioLimits
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined
  #line: Buffer[] = []
  #bytes = 0
  #isClosed = false
  /** The ids of requests that it has not answered yet. */
  readonly #pending = new Set<number>()
  /** Whether it could not be started, or ended by itself. */
  hasFailed = false
  /** Whether it said anything by the protocol: one that starts and is silent has failed, one whose tool is slow has not. */
  hasResponded = false
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  constructor(config: ProgramConfig, limits: StdioLimits) {
    this.#config = config
    this.#limits = limits
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#config
    const child = spawn(command, args, {
      env: { PATH: this.#limits.path, ...env },
      cwd: tmpdir(),
      stdio: ['pipe', 'pipe', 'ignore'],
      // A group of its own, so that what it starts ends with it.
      detached: true,
    })
    this.#child = child
    child.stdin.on('error', () => {})
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
    child.once('exit', (code, signal) => this.#fail(`its program ended with ${signal ?? code}`))
    try {
      await once(child, 'spawn')
    } catch (cause) {
      this.hasFailed = true
      throw new ToolServerError('its program cannot be started', { cause })
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message && 'id' in message) this.#pending.add(Number(message.id))
    this.#child?.stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** Kills it with all that it started. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    const pid = this.#child?.pid
    if (pid !== undefined) killGroup(pid)
    this.onclose?.()
  }

  #fail(reason: string): void {
    if (this.#isClosed) return
    this.hasFailed = true
    this.onerror?.(new ToolServerError(reason))
    void this.close()
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return
    this.#bytes += chunk.length
    if (this.#bytes > this.#limits.maxBytes) {
      this.#fail('its answer is too large')
      return
    }
    let rest = chunk
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      this.#handleLine(Buffer.concat([...this.#line, rest.subarray(0, end)]))
      this.#line = []
      rest = rest.subarray(end + 1)
    }
    if (rest.length > 0) this.#line.push(rest)
  }

  /** Programs also print lines that are meant for people. */
  #handleLine(line: Buffer): void {
    if (line[0] !== '{'.charCodeAt(0)) return
    try {
      const message: JSONRPCMessage = JSON.parse(line.toString())
      this.hasResponded = true
      // The client throws for an answer that nobody waits for, such as one given twice; the session is well nevertheless.
      if (this.#isExpected(message)) this.onmessage?.(message)
    } catch {
      this.#fail('it does not speak the protocol as it should')
    }
  }

  #isExpected(message: JSONRPCMessage): boolean {
    return 'method' in message || message.id == null || this.#pending.delete(Number(message.id))
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of them have ended.
  }
}
