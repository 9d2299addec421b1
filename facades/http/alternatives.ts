import type { z } from 'zod'

/** The alternatives of a transform, which zod cannot describe. Requests use them, so they are loaded without the OpenAPI helpers. */
export const alternatives = new WeakMap<z.core.$ZodType, readonly z.ZodType[]>()
