/** What a person asked models on one day, of one model and in one currency. */
export interface Sum {
  day: string
  model: string
  requests: number
  inputTokens: number
  outputTokens: number
  costMicros: number | null
  currency: string | null
  estimated: number
  unpriced: number
}

/** Sums of several rows; money for each currency by itself. */
export interface Total {
  requests: number
  tokens: number
  costs: Map<string, number>
}

export function total(sums: readonly Sum[]): Total {
  const costs = new Map<string, number>()
  for (const { currency, costMicros } of sums)
    if (currency && costMicros !== null) costs.set(currency, (costs.get(currency) ?? 0) + costMicros)
  return { requests: add(sums, ({ requests }) => requests), tokens: add(sums, tokensOf), costs }
}

/** The sums of each model, the most used one first. */
export const byModel = (sums: readonly Sum[]): [model: string, sums: Sum[]][] =>
  [...Map.groupBy(sums, ({ model }) => model)].toSorted(([, a], [, b]) => add(b, tokensOf) - add(a, tokensOf))

export const tokensOf = ({ inputTokens, outputTokens }: Sum) => inputTokens + outputTokens

export const add = (sums: readonly Sum[], of: (sum: Sum) => number) => sums.reduce((all, sum) => all + of(sum), 0)
