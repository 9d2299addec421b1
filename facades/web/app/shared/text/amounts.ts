import { regions } from './labels.ts'

export const numberText = (number: number) => number.toLocaleString(regions)

/** Millionths of a currency; small sums with the digits that matter. */
export const moneyText = (micros: number, currency: string) =>
  (micros / 1_000_000).toLocaleString(regions, { style: 'currency', currency, maximumFractionDigits: 4 })
