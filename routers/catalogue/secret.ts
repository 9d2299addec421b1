import { z } from 'zod'
import { attribute } from '../resource/declare.ts'

/** Stand for a secret, and are taken for none. */
export const STARS = '********'

/** SQL for what is shown of a sealed column. */
export const starsFor = (column: string) => `case when ${column} is not null then '${STARS}' end`

export const secretText = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => text !== STARS, 'must be the secret, not the stars that stand for it')
  .nullable()

/** A secret, whose column is sealed for this purpose. Nobody gets it back: where there is one, stars stand for it. */
export const secret = <S extends z.ZodType>(purpose: string, input: S, about: string) =>
  attribute(z.string().nullable().describe(about), {
    write: true,
    default: null,
    only: 'admin',
    sealed: purpose,
    // What is written is never read.
    input: input.meta({ description: about, writeOnly: true }),
    load: starsFor,
  })
