import type { Readable, Writable } from 'node:stream'

/** Where a command line reads and writes. */
export interface Terminal {
  input: Readable
  /** Results, and nothing else. */
  stdout: Writable
  /** Questions and refusals. */
  stderr: Writable
  /** Whether somebody is there to answer questions. */
  interactive: boolean
}

export const processTerminal = (): Terminal => ({
  input: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  interactive: Boolean(process.stdin.isTTY && process.stderr.isTTY),
})
