import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, MCPTransport } from '@ai-sdk/mcp'
import type { ProgramConfig, ServerConfig } from '../../routers/ports/ai/mcp-server-config.ts'
import { type CallPlace, ToolServerError } from '../../routers/ports/ai/tool-servers.ts'
import type { ProgressReports } from './progress-reports.ts'

/** Maximum number of running programs, in all and for one user. */
const MAX_AT_ONCE = 16
const MAX_PER_PERSON = 4
/** Milliseconds before a failed program may start again; doubled after each further failure. */
const FIRST_PAUSE_MS = 5000
const LONGEST_PAUSE_MS = 300_000

interface FailureRecord {
  count: number
  /** By `performance.now()`. */
  until: number
}

/** The place of a program that runs, or will. */
type ProgramPlace = Required<CallPlace>

/** The signal that ends a program. */
interface ServerUse {
  signal: AbortSignal
  /** Reads the progress of the call. */
  progress: ProgressReports | undefined
}

/** The programs that run as tool servers, each for one session. */
export class StdioServers {
  readonly #limits: StdioLimits
  readonly #readConfig: () => Promise<readonly ServerConfig[]>
  readonly #failures = new Map<string, FailureRecord>()
  /** Places that are taken, with the user of each. There is no user when the tools are listed. */
  readonly #places = new Map<ProgramPlace, number | undefined>()
  readonly #running = new Set<StdioTransport>()

  /** Only the configuration file decides which programs run, never a row of the database. */
  constructor(readConfig: () => Promise<readonly ServerConfig[]>, limits: StdioLimits) {
    this.#readConfig = readConfig
    this.#limits = limits
  }

  /** Takes the place of a program. Throws `ToolServerError` if it may not be started now. */
  async reserve(url: string, person: number | undefined): Promise<ProgramPlace> {
    const server = (await this.#readConfig()).find((server) => server.url === url)
    if (!server || !('program' in server)) throw new ToolServerError('its program is not in the configuration file')
    if (performance.now() < (this.#failures.get(url)?.until ?? 0))
      throw new ToolServerError('its program failed, and is not started again so soon')
    this.#assertCapacity(person)
    const place = {
      program: { url, config: server.program },
      [Symbol.dispose]: () => void this.#places.delete(place),
    }
    this.#places.set(place, person)
    return place
  }

  /** Starts the program of a place for one use and kills it afterwards. */
  async withServer<T>(
    { url, config }: ProgramPlace['program'],
    { signal, progress }: ServerUse,
    use: (program: StdioTransport) => Promise<T>,
  ): Promise<T> {
    const program = new StdioTransport(config, this.#limits, progress)
    this.#running.add(program)
    try {
      return await use(program)
    } finally {
      await program.close()
      this.#running.delete(program)
      // A caller who disconnects says nothing about the program.
      if (program.hasFailed || !(program.hasResponded || signal.aborted)) this.#recordFailure(url)
      else if (program.hasResponded) this.#failures.delete(url)
    }
  }

  #assertCapacity(person: number | undefined): void {
    if (this.#places.size >= MAX_AT_ONCE) throw new ToolServerError('too many programs of tool servers run already')
    const ofPerson = [...this.#places.values()].filter((other) => person !== undefined && other === person)
    if (ofPerson.length >= MAX_PER_PERSON)
      throw new ToolServerError('too many programs of tool servers run already for the same person')
  }

  #recordFailure(url: string): void {
    const { count = 0 } = this.#failures.get(url) ?? {}
    this.#failures.set(url, { count: count + 1, until: performance.now() + computePause(count) })
  }

  close(): void {
    for (const program of this.#running) void program.close()
  }
}

const computePause = (count: number) => Math.min(FIRST_PAUSE_MS * 2 ** count, LONGEST_PAUSE_MS)

interface StdioLimits {
  /** Maximum size of all output in a session. */
  maxBytes: number
  /** The variable PATH, by which programs are found. */
  path: string | undefined
}

/**
 * Transport to a program of this host, for one session. The program gets the variables of the configuration file, and
 * PATH.
 */
class StdioTransport implements MCPTransport {
  readonly #config: ProgramConfig
  readonly #limits: StdioLimits
  readonly #progress: ProgressReports | undefined
  #child: ChildProcessByStdio<Writable, Readable, null> | undefined
  #line: Buffer[] = []
  #bytes = 0
  #isClosed = false
  /** Ids of requests without a response yet. */
  readonly #pending = new Set<number>()
  /** True if the program could not be started, or ended by itself. */
  hasFailed = false
  /**
   * True once the program has sent a valid message. A program that sends none has failed; one with a slow tool has not.
   */
  hasResponded = false
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  constructor(config: ProgramConfig, limits: StdioLimits, progress: ProgressReports | undefined) {
    this.#config = config
    this.#limits = limits
    this.#progress = progress
  }

  async start(): Promise<void> {
    const { command, args, env } = this.#config
    const child = spawn(command, args, {
      env: { PATH: this.#limits.path, ...env },
      cwd: tmpdir(),
      stdio: ['pipe', 'pipe', 'ignore'],
      // The program gets its own process group, so that its children end with it.
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
    this.#child?.stdin.write(`${JSON.stringify(this.#progress?.addToken(message) ?? message)}\n`)
  }

  /** Kills the program and all its children. */
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

  /** Ignores lines that are no JSON, which programs print for people. */
  #handleLine(line: Buffer): void {
    if (line[0] !== '{'.charCodeAt(0)) return
    try {
      const message: JSONRPCMessage = JSON.parse(line.toString())
      this.hasResponded = true
      this.#progress?.read(message)
      // The client throws for a response that it does not expect, such as a repeated one, but the session is fine.
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
    // All processes of the group have ended.
  }
}
