import { confirm, isCancel, log, password, select, text } from '@clack/prompts'
import type { z } from 'zod'
import { Cancelled, firstIssue, sentences, UsageError } from './errors.ts'
import type { Terminal } from './terminal.ts'

/** A value to read from a flag or, at a terminal, from a prompt. */
interface Question<S extends z.ZodType> {
  flag: string
  given: string | undefined
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
  agrees(flag: string, message: string): Promise<boolean>
  /** Returns only when the answer is yes. */
  consent(flag: string, message: string): Promise<void>
  /** Throws where nobody is there to answer a question in place of the flag. */
  expect(flag: string): void
  /** Shows what somebody needs to see for their answer. */
  show(lines: string): void
}

export function createPrompts({ input, stderr: output, interactive }: Terminal): Prompts {
  function expect(flag: string): void {
    if (!interactive) throw new UsageError(`${flag} is missing.`)
  }

  /** Unwraps an answer; Ctrl-C ends the command. */
  async function answer<T>(flag: string, prompt: () => Promise<T | symbol>): Promise<T> {
    expect(flag)
    const answered = await prompt()
    if (isCancel(answered)) throw new Cancelled()
    return answered as T
  }

  return {
    interactive,
    async text({ flag, given, message, schema }) {
      const validate = validatorOf(schema)
      return parseFlag(schema, given ?? (await answer(flag, () => text({ message, validate, input, output }))), flag)
    },
    async choice({ flag, given, message, schema, options }) {
      const ask = () => select({ message, options: [...options], input, output })
      return parseFlag(schema, given ?? (await answer(flag, ask)), flag)
    },
    async newPassword(message, schema) {
      const hidden = (question: string, validate: (value?: string) => string | undefined) =>
        answer<string>('--password-stdin', () => password({ message: question, validate, input, output }))
      const first = await hidden(message, validatorOf(schema))
      if (first === '') return first
      const again = await hidden('The same again', () => undefined)
      if (first === again) return first
      log.error('These two are not the same.', { output })
      return this.newPassword(message, schema)
    },
    agrees: (flag, message) => answer<boolean>(flag, () => confirm({ message, initialValue: false, input, output })),
    async consent(flag, message) {
      if (!(await this.agrees(flag, message))) throw new Cancelled()
    },
    expect,
    show: (lines) => log.message(lines, { output }),
  }
}

const validatorOf =
  (schema: z.ZodType) =>
  (value = '') => {
    const { error } = schema.safeParse(value)
    return error && firstIssue(error)
  }

/** Parses the value of a flag by its schema; throws a UsageError with the messages of the schema. */
export function parseFlag<S extends z.ZodType>(schema: S, given: unknown, flag: string): z.output<S> {
  const parsed = schema.safeParse(given)
  if (!parsed.success) throw new UsageError(sentences(parsed.error, flag))
  return parsed.data
}
