import { write, writeSync } from 'node:fs'
import type { DestinationStream } from 'pino'

const STDOUT = 1
const FULL_LENGTH = 32_768
const FLUSH_INTERVAL_MS = 100
const MAX_LAST_WRITES = 50
/** Characters that wait for a blocked output, such as a full disk or a slow reader; further lines are dropped. */
const MAX_WAITING = 4 * 1024 * 1024

/**
 * Buffers standard output: it writes 32 KB, or the lines of 100 ms, at a time, because a write costs more than its lines. The
 * rest is written when the process exits. If the terminal or reader is gone or blocked for long, lines are dropped: the service
 * neither fails nor waits. Only the exit of the process waits for a blocked write.
 */
export class StandardOutput implements DestinationStream {
  #lines = ''
  /** Bytes of the current write that are not written yet. */
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
      if (error) return this.#handleError(error)
      this.#chunk = this.#chunk.subarray(written)
      if (this.#chunk.length > 0 || this.#lines.length >= FULL_LENGTH) this.#flush()
    })
  }

  #takeLines(): Buffer<ArrayBuffer> {
    const bytes = Buffer.from(this.#lines + (this.#dropped > 0 ? formatDroppedLine(this.#dropped) : ''))
    this.#lines = ''
    this.#dropped = 0
    return bytes
  }

  /** Drops all output if the reader is gone for good; otherwise the next interval retries. */
  #handleError({ code = '' }: NodeJS.ErrnoException): void {
    if (!goneCodes.has(code)) return
    this.#isGone = true
    this.#lines = ''
    this.#chunk = Buffer.alloc(0)
  }

  /** Writes the rest at the exit, except a chunk whose write is in progress, for which the exit waits. */
  #finish(): void {
    const lines = this.#takeLines()
    writeNow(this.#isWriting ? lines : Buffer.concat([this.#chunk, lines]))
  }
}

/** Writes synchronously. Gives up if the output is gone, or busy for 5 seconds, because the process must end. */
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

const goneCodes = new Set(['EPIPE', 'EIO', 'EBADF', 'ENXIO'])

/** Returns a log line that says how many lines were dropped. */
const formatDroppedLine = (lines: number) =>
  `${JSON.stringify({ level: 40, time: Date.now(), lines, msg: 'lines of the log were dropped: nothing took them' })}\n`

/** Returns whether the output is busy, which happens only to a terminal or pipe that was made non-blocking. */
const isBusy = ({ code }: NodeJS.ErrnoException) => code === 'EAGAIN' || code === 'EBUSY'

const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
