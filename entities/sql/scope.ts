import { createHash } from 'node:crypto'
import type { Statement } from './statement.ts'

/** What is known of a caller, as values of a statement. */
export interface Viewer {
  /** The person's id; 0 for nobody. */
  viewer: number
  usage: string
  locale: string
  defaultLocale: string
}

const types = {
  viewer: 'int',
  usage: 'text',
  locale: 'text',
  defaultLocale: 'text',
  ids: 'int[]',
  limit: 'int',
  offset: 'int',
  filter: 'int',
} as const

export type ParameterName = keyof typeof types
export type ParameterValues = Partial<Record<ParameterName, unknown>>

/** The place of a value in a statement. What a caller sent never becomes text of the statement. */
export interface Place {
  (name: ParameterName): string
  /** Whether the statement is written for those who may administer, and so see every row. */
  readonly forAdmin: boolean
}

/** SQL for a row under an alias. */
export type Condition = (row: string, place: Place) => string

/** A statement whose values are given by name. */
export interface Compiled {
  statement: Statement<Record<string, unknown>>
  values(given: ParameterValues): unknown[]
}

/** Writes a statement once, for as many calls as come. The name follows from the text, so equal texts share one plan. */
export function compile(forAdmin: boolean, write: (place: Place) => string): Compiled {
  const names: ParameterName[] = []
  const place = (name: ParameterName) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}::${types[name]}`
  }
  const text = write(Object.assign(place, { forAdmin }))
  const name = createHash('sha1').update(text).digest('base64url')
  return { statement: { name, text }, values: (given) => names.map((parameter) => given[parameter]) }
}

export const everyRow: Condition = () => 'true'

/** Texts of their own for administrators and for others let PostgreSQL join what it would else look up row by row. */
export const everyRowForAdmins =
  (others: Condition): Condition =>
  (row, place) =>
    place.forAdmin ? 'true' : others(row, place)
