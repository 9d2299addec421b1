import { z } from 'zod'

/** The price of a call of a tool, as a person writes it. */
export const toolPrice = z
  .string()
  .regex(/^\d{1,6}(\.\d{1,6})? [A-Z]{3}$/, 'must be a price such as 0.005 EUR, with a code of a currency')

/** The cost of a call of a tool. */
export interface ToolCost {
  /** Millionths of the currency. */
  costMicros: number
  currency: string
}

const MICROS = 1_000_000

/** Returns null if calls cost nothing. */
export function parseToolPrice(price: string | null): ToolCost | null {
  const [amount, currency = ''] = price?.split(' ') ?? []
  const costMicros = Math.round(Number(amount ?? 0) * MICROS)
  return costMicros > 0 ? { costMicros, currency } : null
}
