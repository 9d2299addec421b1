interface AmountUnit {
  unit: string
  currency: string | null
}

const numberFormat = new Intl.NumberFormat('en', { maximumFractionDigits: 6, useGrouping: false })

/** Formats millionths of a currency in currency units, exactly. */
export const formatMicros = (micros: number) => numberFormat.format(`${micros}E-6` as `${number}`)

/** Formats an amount such as `1.234567 EUR`; null if the price is unknown. */
export const formatMoney = (micros: number | null, currency: string | null) =>
  micros === null || currency === null ? null : `${formatMicros(micros)} ${currency}`

/** Formats an amount such as `50 EUR` or `3 requests`. */
export const formatAmount = (amount: number, { unit, currency }: AmountUnit) =>
  unit === 'money' ? `${formatMicros(amount)} ${currency}` : `${amount} ${unit}`

/** Formats an amount for each period, such as `50 EUR a day` or `3 requests an hour`. */
export const formatCap = (amount: number, { period, ...unit }: AmountUnit & { period: string }) =>
  `${formatAmount(amount, unit)} ${period === 'hour' ? 'an' : 'a'} ${period}`
