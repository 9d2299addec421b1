import type { TargetServer } from './target.ts'

export type Level = 'MUST' | 'SHOULD' | 'MAY'

export interface Obligation {
  id: string
  level: Level
  /** The section of the standard, with lines of its source text. */
  source: string
  says: string
  /** Returns where the obligation holds, and throws a Failure or NotApplicable where not. */
  check(server: TargetServer): Promise<void>
}

/** The words in which the obligations of one chapter are written. */
export function chapter(name: string) {
  const at =
    (level: Level) =>
    (id: string, source: string, says: string, check: Obligation['check']): Obligation => ({
      id: `${name}.${id}`,
      level,
      source: `jsonapi 1.1 ${source}`,
      says,
      check,
    })
  return { must: at('MUST'), should: at('SHOULD'), may: at('MAY') }
}
