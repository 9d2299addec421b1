import type { Readable, Writable } from 'node:stream'
import { confirm, isCancel, log, password, select, text } from '@clack/prompts'
import type { z } from 'zod'
import { Cancelled, UsageError, writeFirstIssue } from './errors.ts'
import { parseFlag } from './flag-values.ts'

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

/** A value to read from a flag or, at a terminal, from a prompt. */
interface Question<S extends z.ZodType> {
  flag: string
  value: string | undefined
  message: string
  schema: S
}

interface Choice<S extends z.ZodType> extends Question<S> {
  options: readonly { value: string; label: string }[]
}

export interface Prompts {
  /** Whether somebody is there to answer. */
  readonly interactive: boolean
  text<S extends z.ZodType>(question: Question<S>): Promise<z.output<S>>
  choice<S extends z.ZodType>(question: Choice<S>): Promise<z.output<S>>
  /** A secret that is typed twice and never shown; once where nothing is typed, if the schema takes that. */
  newPassword<S extends z.ZodType<string>>(message: string, schema: S): Promise<string>
  /** Whether the answer is yes. */
  confirm(flag: string, message: string): Promise<boolean>
  /** Returns only when the answer is yes. */
  requireConsent(flag: string, message: string): Promise<void>
  /** Throws where nobody is there to answer a question in place of the flag. */
  requireTerminal(flag: string): void
  /** Shows what somebody needs to see for their answer. */
  show(lines: string): void
  /** Reads values one after the other; throws once, with all that is wrong with them, and asks nothing after the first fault. */
  readAll<R extends Readers>(readers: R): Promise<Values<R>>
}

type Readers = Record<string, () => unknown>
type Values<R extends Readers> = { [name in keyof R]: Awaited<ReturnType<R[name]>> }

/** In place of a question, where the command line is refused anyway. */
class SkippedQuestion extends Error {}

/** Prompts at the terminal of whoever runs the command. */
export class TerminalPrompts implements Prompts {
  readonly interactive: boolean
  /** Where questions are asked and answered. */
  readonly #streams: { input: Terminal['input']; output: Terminal['stderr'] }
  #isRefused = false

  constructor({ input, stderr: output, interactive }: Terminal) {
    this.interactive = interactive
    this.#streams = { input, output }
  }

  async text<S extends z.ZodType>({ flag, value, message, schema }: Question<S>): Promise<z.output<S>> {
    const ask = () => text({ message, validate: createValidator(schema), ...this.#streams })
    return parseFlag(schema, value ?? (await this.#ask(flag, ask)), flag)
  }

  async choice<S extends z.ZodType>({ flag, value, message, schema, options }: Choice<S>): Promise<z.output<S>> {
    const ask = () => select({ message, options: [...options], ...this.#streams })
    return parseFlag(schema, value ?? (await this.#ask(flag, ask)), flag)
  }

  async newPassword<S extends z.ZodType<string>>(message: string, schema: S): Promise<string> {
    const first = await this.#askSecret(message, createValidator(schema))
    if (first === '') return first
    const again = await this.#askSecret('The same again')
    if (first === again) return first
    log.error('These two are not the same.', this.#streams)
    return this.newPassword(message, schema)
  }

  confirm(flag: string, message: string): Promise<boolean> {
    return this.#ask<boolean>(flag, () => confirm({ message, initialValue: false, ...this.#streams }))
  }

  async requireConsent(flag: string, message: string): Promise<void> {
    if (!(await this.confirm(flag, message))) throw new Cancelled()
  }

  requireTerminal(flag: string): void {
    if (!this.interactive) throw new UsageError(`${flag} is missing.`)
  }

  show(lines: string): void {
    log.message(lines, this.#streams)
  }

  async readAll<R extends Readers>(readers: R): Promise<Values<R>> {
    const values: Record<string, unknown> = {}
    const faults: string[] = []
    for (const [name, read] of Object.entries(readers)) {
      try {
        values[name] = await read()
      } catch (error) {
        if (error instanceof SkippedQuestion) continue
        if (!(error instanceof UsageError)) throw error
        faults.push(error.message)
        this.#isRefused = true
      }
    }
    if (faults.length > 0) throw new UsageError(faults.join('\n'))
    return values as Values<R>
  }

  #askSecret(message: string, validate: (value?: string) => string | undefined = () => undefined): Promise<string> {
    return this.#ask<string>('--password-stdin', () => password({ message, validate, ...this.#streams }))
  }

  /** Unwraps an answer; Ctrl-C ends the command. */
  async #ask<T>(flag: string, prompt: () => Promise<T | symbol>): Promise<T> {
    this.requireTerminal(flag)
    if (this.#isRefused) throw new SkippedQuestion()
    const answer = await prompt()
    if (isCancel(answer)) throw new Cancelled()
    return answer as T
  }
}

const createValidator =
  (schema: z.ZodType) =>
  (value = '') => {
    const { error } = schema.safeParse(value)
    return error && writeFirstIssue(error)
  }
