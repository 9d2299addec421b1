import { confirm, isCancel, log, select, text } from '@clack/prompts'
import type { z } from 'zod'
import { complaint, Declined, sentences, UsageError } from './refusals.ts'
import type { Terminal } from './terminal.ts'

/** A value that a flag gives, or somebody at the terminal. */
interface Question<S extends z.ZodType> {
  flag: string
  given: string | undefined
  message: string
  schema: S
}

interface Choice<S extends z.ZodType> extends Question<S> {
  options: readonly { value: string; label: string }[]
}

export interface Questions {
  text<S extends z.ZodType>(question: Question<S>): Promise<z.output<S>>
  choice<S extends z.ZodType>(question: Choice<S>): Promise<z.output<S>>
  /** Returns only when the answer is yes. */
  consent(flag: string, message: string): Promise<void>
  /** Throws where nobody is there to answer a question in place of the flag. */
  expect(flag: string): void
  /** Shows what somebody needs to see for their answer. */
  show(lines: string): void
}

export function createQuestions({ input, stderr: output, interactive }: Terminal): Questions {
  function expect(flag: string): void {
    if (!interactive) throw new UsageError(`${flag} is missing.`)
  }

  /** Unwraps an answer; Ctrl-C ends the command. */
  async function answer<T>(flag: string, prompt: () => Promise<T | symbol>): Promise<T> {
    expect(flag)
    const answered = await prompt()
    if (isCancel(answered)) throw new Declined()
    return answered as T
  }

  return {
    async text({ flag, given, message, schema }) {
      const validate = (value = '') => {
        const { error } = schema.safeParse(value)
        return error && complaint(error)
      }
      return read(schema, given ?? (await answer(flag, () => text({ message, validate, input, output }))), flag)
    },
    async choice({ flag, given, message, schema, options }) {
      const ask = () => select({ message, options: [...options], input, output })
      return read(schema, given ?? (await answer(flag, ask)), flag)
    },
    async consent(flag, message) {
      const yes = await answer(flag, () => confirm({ message, initialValue: false, input, output }))
      if (!yes) throw new Declined()
    },
    expect,
    show: (lines) => log.message(lines, { output }),
  }
}

/** The value of a flag by its schema; what is wrong with it is told in the schema's words. */
export function read<S extends z.ZodType>(schema: S, given: unknown, flag: string): z.output<S> {
  const parsed = schema.safeParse(given)
  if (!parsed.success) throw new UsageError(sentences(parsed.error, flag))
  return parsed.data
}
