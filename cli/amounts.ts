interface Measured {
  unit: string
  currency: string | null
}

const number = new Intl.NumberFormat('en', { maximumFractionDigits: 6, useGrouping: false })

/** Millionths of a currency in the currency; exact, whatever their number. */
export const inCurrency = (micros: number) => number.format(`${micros}E-6` as `${number}`)

/** For people: `1.234567 EUR`; nothing where no price is known. */
export const money = (micros: number | null, currency: string | null) =>
  micros === null || currency === null ? null : `${inCurrency(micros)} ${currency}`

/** For people: these members of a record in the currency where it is one of money, and as they are elsewhere. */
export function readable<Row extends Measured>(row: Row, names: readonly (keyof Row)[]): object {
  if (row.unit !== 'money') return row
  return { ...row, ...Object.fromEntries(names.map((name) => [name, inCurrency(row[name] as number)])) }
}

/** For people: `50 EUR`, `3 requests`. */
export const formatAmount = (amount: number, { unit, currency }: Measured) =>
  unit === 'money' ? `${inCurrency(amount)} ${currency}` : `${amount} ${unit}`
