import type { CompiledStatement, ParameterValues } from '../../entities/sql/scope.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Read, ResourceStatements } from './statements.ts'
import { questionOf, Turns } from './turns.ts'

/** What reads rows, and with which values. */
export interface Question {
  statements: ResourceStatements
  compiled: CompiledStatement
  given: ParameterValues
}

/**
 * Reads rows once for all who ask for the same in one turn of the event loop. What they get is theirs together: nobody
 * may change it. Who may see a row is in the values, so nobody shares with whoever sees more or less.
 */
export class RowLoader {
  readonly #sql: Sql
  readonly #pages = new Turns<never, Read[]>()
  readonly #rows = new Turns<number, Map<string, Read[]>>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** All that a statement finds. */
  all({ statements, compiled: { statement, values }, given }: Question): Promise<Read[]> {
    const ordered = values(given)
    const read = async () => (await this.#sql(statement, ordered)).map((row) => statements.read(row))
    return this.#pages.ask(questionOf(statement, ordered), [], read)
  }

  /** What a statement finds for `ids`, and perhaps for those of others, by the id it belongs to. */
  byIds(question: Question, ids: readonly number[]): Promise<Map<string, Read[]>> {
    const { statements, compiled, given } = question
    const { statement, values } = compiled
    const read = async (asked: number[]) => {
      const rows = await this.#sql(statement, values({ ...given, ids: asked }))
      return Map.groupBy(
        rows.map((row) => statements.read(row)),
        ({ belongsTo }) => belongsTo,
      )
    }
    return this.#rows.ask(questionOf(statement, values(given)), ids, read)
  }
}
