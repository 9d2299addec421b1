import { z } from 'zod'

export const flag = (fallback: boolean) => z.stringbool().prefault(String(fallback))

export const list = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter(Boolean),
  )
  .prefault('')

export const count = (fallback: number, min = 0) => z.coerce.number().int().min(min).default(fallback)
