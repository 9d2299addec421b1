import type { api } from '../shared/api/client.ts'

/** What a person asked models on one day, of one model and in one currency. */
export type Sum = Awaited<ReturnType<typeof api.usage.summary.query>>[number]

/** Sums of several rows; money for each currency by itself. */
export interface Total {
  requests: number
  tokens: number
  costs: Map<string, number>
}

export function sumUp(sums: readonly Sum[]): Total {
  const costs = new Map<string, number>()
  for (const { currency, costMicros } of sums)
    if (currency && costMicros !== null) costs.set(currency, (costs.get(currency) ?? 0) + costMicros)
  return { requests: add(sums, ({ requests }) => requests), tokens: add(sums, tokensOf), costs }
}

/** The sums of each model, the most used one first. */
export const groupByModel = (sums: readonly Sum[]): [model: string, sums: Sum[]][] =>
  [...Map.groupBy(sums, ({ model }) => model)].toSorted(([, a], [, b]) => add(b, tokensOf) - add(a, tokensOf))

export const tokensOf = ({ inputTokens, outputTokens }: Sum) => inputTokens + outputTokens

export const add = (sums: readonly Sum[], of: (sum: Sum) => number) => sums.reduce((all, sum) => all + of(sum), 0)
