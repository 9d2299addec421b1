import { z } from 'zod'

/** A number as it is typed. Blank text, as of a variable that is not set, is none. */
export const typedNumber = z.string().trim().min(1, 'must not be empty').pipe(z.coerce.number('must be a number'))
