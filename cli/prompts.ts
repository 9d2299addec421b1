import type { Readable, Writable } from 'node:stream'
import { confirm, isCancel, log, password, select, text } from '@clack/prompts'
import type { z } from 'zod'
import { CancelledError, UsageError, writeFirstIssue } from './errors.ts'
import { parseFlag } from './flag-values.ts'

/** The streams that a command line reads and writes. */
export interface Terminal {
  input: Readable
  /** For results only. */
  stdout: Writable
  /** For questions and errors. */
  stderr: Writable
  /** True if a person can answer questions. */
  isInteractive: boolean
}

export const getProcessTerminal = (): Terminal => ({
  input: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  isInteractive: Boolean(process.stdin.isTTY && process.stderr.isTTY),
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
  /** True if a person can answer. */
  readonly isInteractive: boolean
  askText<S extends z.ZodType>(question: Question<S>): Promise<z.output<S>>
  askChoice<S extends z.ZodType>(question: Choice<S>): Promise<z.output<S>>
  /** Asks twice for a secret without showing it; once if the first input is empty and the schema allows that. */
  askNewPassword<S extends z.ZodType<string>>(message: string, schema: S): Promise<string>
  /** Asks for a text without showing it. */
  askHiddenText(flag: string, message: string): Promise<string>
  /** Returns true if the person agrees. */
  confirm(flag: string, message: string): Promise<boolean>
  /** Throws `CancelledError` if the person does not agree. */
  requireConsent(flag: string, message: string): Promise<void>
  /** Throws if there is no terminal at which to ask for the value of the flag. */
  requireTerminal(flag: string): void
  /** Shows information that the person needs for an answer. */
  show(lines: string): void
  /**
   * Reads values one after the other and throws once with all errors. Asks no further questions after the first error.
   */
  readAll<R extends Readers>(readers: R): Promise<Values<R>>
}

type Readers = Record<string, () => unknown>
type Values<R extends Readers> = { [name in keyof R]: Awaited<ReturnType<R[name]>> }

/** Thrown instead of a question if the command line will be refused anyway. */
class SkippedQuestionError extends Error {}

/** Asks questions at a terminal. */
export class TerminalPrompts implements Prompts {
  readonly isInteractive: boolean
  /** The streams for questions and answers. */
  readonly #streams: { input: Terminal['input']; output: Terminal['stderr'] }
  #isRefused: boolean

  /** If the command line is refused already, nothing is asked. */
  constructor({ input, stderr: output, isInteractive }: Terminal, isRefused = false) {
    this.isInteractive = isInteractive
    this.#isRefused = isRefused
    this.#streams = { input, output }
  }

  async askText<S extends z.ZodType>({ flag, value, message, schema }: Question<S>): Promise<z.output<S>> {
    const ask = () => text({ message, validate: createValidator(schema), ...this.#streams })
    return parseFlag(schema, value ?? (await this.#ask(flag, ask)), flag)
  }

  async askChoice<S extends z.ZodType>({ flag, value, message, schema, options }: Choice<S>): Promise<z.output<S>> {
    const ask = () => select({ message, options: [...options], ...this.#streams })
    return parseFlag(schema, value ?? (await this.#ask(flag, ask)), flag)
  }

  async askNewPassword<S extends z.ZodType<string>>(message: string, schema: S): Promise<string> {
    const first = await this.#askSecret(message, createValidator(schema))
    if (first === '') return first
    const again = await this.#askSecret('The same again')
    if (first === again) return first
    log.error('These two are not the same.', this.#streams)
    return this.askNewPassword(message, schema)
  }

  askHiddenText(flag: string, message: string): Promise<string> {
    return this.#ask<string>(flag, () => password({ message, ...this.#streams }))
  }

  confirm(flag: string, message: string): Promise<boolean> {
    return this.#ask<boolean>(flag, () => confirm({ message, initialValue: false, ...this.#streams }))
  }

  async requireConsent(flag: string, message: string): Promise<void> {
    if (!(await this.confirm(flag, message))) throw new CancelledError()
  }

  requireTerminal(flag: string): void {
    if (!this.isInteractive) throw new UsageError(`${flag} is missing.`)
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
        if (error instanceof SkippedQuestionError) continue
        if (!(error instanceof UsageError)) throw error
        faults.push(error.message)
        this.#isRefused = true
      }
    }
    // Two values may lack the same flag.
    if (faults.length > 0) throw new UsageError([...new Set(faults)].filter((fault) => fault !== '').join('\n'))
    return values as Values<R>
  }

  #askSecret(message: string, validate: (value?: string) => string | undefined = () => undefined): Promise<string> {
    return this.#ask<string>('--password-stdin', () => password({ message, validate, ...this.#streams }))
  }

  /** Shows a prompt and returns the answer; Ctrl-C cancels the command. */
  async #ask<T>(flag: string, prompt: () => Promise<T | symbol>): Promise<T> {
    this.requireTerminal(flag)
    if (this.#isRefused) throw new SkippedQuestionError()
    const answer = await prompt()
    if (isCancel(answer)) throw new CancelledError()
    return answer as T
  }
}

const createValidator =
  (schema: z.ZodType) =>
  (value = '') => {
    const { error } = schema.safeParse(value)
    return error && writeFirstIssue(error)
  }
