import { TRPCError } from '@trpc/server'
import type { z } from 'zod'
import { assertRawInput } from '../../routers/core/raw-input.ts'

/** The body as its schema has it; throws what a procedure would throw. */
export function read<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  assertRawInput(body)
  const result = schema.safeParse(body ?? {})
  if (result.success) return result.data
  throw new TRPCError({ code: 'BAD_REQUEST', cause: result.error })
}
