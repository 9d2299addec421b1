import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

const STDOUT = 1
const FULL_LENGTH = 32_768
const FLUSH_INTERVAL_MS = 100
const MAX_LAST_WRITES = 50
/** Characters that wait for an output which takes none, such as a full disk or a reader that does not read. */
const MAX_WAITING = 4 * 1024 * 1024

/**
 * Standard output, of which a process has one, in few writes, as each costs more than its lines: 32 KB, or what came in 100 ms. The end of the process
 * writes the rest. When the terminal or the reader is gone, or takes nothing for long, lines are dropped: the service neither
 * fails nor waits for them. Only the end of the process waits for a write that a reader holds up.
 */
export class StandardOutput implements DestinationStream {
  #lines = ''
  /** What is left of the lines that were taken for a write. */
  #chunk = Buffer.alloc(0)
  #isWriting = false
  #isGone = false
  #dropped = 0

  constructor() {
    setInterval(() => this.#flush(), FLUSH_INTERVAL_MS).unref()
    process.once('exit', () => this.#finish())
  }

  write(lines: string): void {
    if (this.#isGone) return
    if (this.#lines.length > MAX_WAITING) {
      this.#dropped++
      return
    }
    this.#lines += lines
    if (this.#lines.length >= FULL_LENGTH) this.#flush()
  }

  #flush(): void {
    if (this.#isWriting) return
    if (this.#chunk.length === 0) this.#chunk = this.#takeLines()
    if (this.#chunk.length === 0) return
    this.#isWriting = true
    write(STDOUT, this.#chunk, (error, written) => {
      this.#isWriting = false
      if (error) return this.#handle(error)
      this.#chunk = this.#chunk.subarray(written)
      if (this.#chunk.length > 0 || this.#lines.length >= FULL_LENGTH) this.#flush()
    })
  }

  #takeLines(): Buffer<ArrayBuffer> {
    const taken = Buffer.from(this.#lines + (this.#dropped > 0 ? droppedLine(this.#dropped) : ''))
    this.#lines = ''
    this.#dropped = 0
    return taken
  }

  /** The next interval tries again, unless nobody can ever read it. */
  #handle({ code = '' }: NodeJS.ErrnoException): void {
    if (!gone.has(code)) return
    this.#isGone = true
    this.#lines = ''
    this.#chunk = Buffer.alloc(0)
  }

  /** Leaves out a write under way, which the end of the process waits for. */
  #finish(): void {
    const lines = this.#takeLines()
    writeNow(this.#isWriting ? lines : Buffer.concat([this.#chunk, lines]))
  }
}

/** Gives up on an output that is gone, and after 5 seconds on one that stays busy: the process must end. */
function writeNow(bytes: Buffer): void {
  let rest = bytes
  for (let writes = 0; rest.length > 0 && writes < MAX_LAST_WRITES; writes++) {
    try {
      rest = rest.subarray(writeSync(STDOUT, rest))
    } catch (error) {
      if (!isBusy(error as NodeJS.ErrnoException)) return
      sleep(FLUSH_INTERVAL_MS)
    }
  }
}

const gone = new Set(['EPIPE', 'EIO', 'EBADF', 'ENXIO'])

/** In place of lines that were dropped. */
const droppedLine = (lines: number) =>
  `${JSON.stringify({ level: 40, time: Date.now(), lines, msg: 'lines of the log were dropped: nothing took them' })}\n`

/** Only a terminal or a pipe that somebody made non-blocking is ever busy. */
const isBusy = ({ code }: NodeJS.ErrnoException) => code === 'EAGAIN' || code === 'EBUSY'

const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
