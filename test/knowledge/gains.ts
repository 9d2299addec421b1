/** Discount of a right passage at a rank, which counts from 0. */
export const computeDiscount = (rank: number): number => 1 / Math.log2(rank + 2)

export const average = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length
