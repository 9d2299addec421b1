import { z } from 'zod'
import type { FilterPredicate } from '../../entities/sql/scope.ts'

/** A filter: which values it takes, and the SQL for them, whose text knows a value by its variant alone. */
export interface Filter<S extends z.ZodType = z.ZodType> {
  schema: S
  /** Which of the texts stands for a value. */
  variantOf(value: z.output<S>): string
  texts: Readonly<Record<string, FilterPredicate>>
}

/** A filter whose text is the same for all values. */
export const filter = <S extends z.ZodType>(schema: S, text: FilterPredicate): Filter<S> => ({
  schema,
  variantOf: () => 'any',
  texts: { any: text },
})

/** A filter with a text for each kind of value. */
export const filterByVariant = <S extends z.ZodType, V extends string>(
  schema: S,
  texts: Readonly<Record<V, FilterPredicate>>,
  variantOf: (value: z.output<S>) => NoInfer<V>,
): Filter<S> => ({ schema, variantOf, texts })

/** A filter that takes one of a few words, each with its text. */
export const choice = <V extends string>(description: string, texts: Readonly<Record<V, FilterPredicate>>) =>
  filterByVariant(z.enum(Object.keys(texts) as V[]).describe(description), texts, (word) => word as V)
