import { z } from 'zod'

/** Higher than any number. */
export const LAST = 2_147_483_647

export const messageNumber = z
  .string()
  .regex(/^\d{1,9}\.\d{3,9}$/, { error: 'must be the number of a message, such as 12.000' })

/** `12.001` is the first reply to the message 12. */
export function parseNumber(number: string): [seq: number, subSeq: number] {
  const [seq, subSeq] = number.split('.').map(Number)
  return [seq ?? 0, subSeq ?? 0]
}
