import type { z } from 'zod'
import { definitionOf, nodesOf, schemas } from './schemas.ts'

type Runnable = { _zod: { run: (...given: never[]) => unknown } }

/** Counts the elements of lists and the members of records that schemas of inputs judge from now on. */
export function countJudged() {
  let judged = 0
  const parts = schemas.flatMap(({ schema }) =>
    [...nodesOf(schema)].flatMap(({ schema }) => {
      const { element, valueType } = definitionOf(schema)
      return [element, valueType].flatMap((part): z.ZodType[] => (part ? [part] : []))
    }),
  )
  for (const part of new Set(parts) as unknown as Set<Runnable>) {
    const { run } = part._zod
    part._zod.run = (...given) => {
      judged++
      return run(...given)
    }
  }
  return {
    /** How many since it was last asked. */
    take() {
      const taken = judged
      judged = 0
      return taken
    },
  }
}
