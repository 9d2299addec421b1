import { z } from 'zod'
import { timerDuration } from '../../routers/ports/duration.ts'

export const flag = (fallback: boolean) => z.stringbool({ error: 'must be true or false' }).prefault(String(fallback))

export const list = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .prefault('')

/** A length of time that may be 0. */
export const durationOrNone = z.union([z.literal('0').transform(Number), timerDuration])

const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text

/** Each as a browser sends it: scheme, host and port, nothing behind them. */
export const origins = list.refine((given) => given.every(isOrigin), {
  error: ({ input }) =>
    `must be origins such as https://app.example.org, without a path, and ${(input as string[]).find((it) => !isOrigin(it))} is none`,
})

export const count = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z.coerce.number().int().min(min).max(max).default(fallback)
