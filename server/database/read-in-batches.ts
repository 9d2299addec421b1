import type { Pool } from 'pg'
import type { ReadInBatches } from '../../entities/sql/statement.ts'

const BATCH = 1000

/** Reads through a cursor, so that neither the database nor this process holds all rows at once. */
export const readInBatches = (pool: Pool): ReadInBatches =>
  async function* <Row>({ text }: { text: string }, values: readonly unknown[]) {
    const client = await pool.connect()
    let failure: Error | undefined
    try {
      // Whoever reads may be slow, and hinders nobody.
      await client.query(`begin read only; set local idle_in_transaction_session_timeout = '10min'`)
      await client.query(`declare rows no scroll cursor for ${text}`, values as unknown[])
      for (;;) {
        const { rows } = await client.query(`fetch ${BATCH} from rows`)
        if (rows.length === 0) break
        yield rows as Row[]
      }
    } catch (error) {
      failure = error as Error
      throw error
    } finally {
      await client.query('rollback').catch((error: Error) => {
        failure = error
      })
      client.release(failure)
    }
  }
