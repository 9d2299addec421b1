import type { PostgreSqlConnection } from '@mikro-orm/postgresql'

type Dialect = Exclude<ReturnType<PostgreSqlConnection['createKyselyDialect']>, Promise<unknown>>
type Driver = ReturnType<Dialect['createDriver']>
type DatabaseConnection = Parameters<Driver['releaseConnection']>[0]

/**
 * Gives the connection of a transaction back to the pool when it is lost. Kysely does so only after `commit` or
 * `rollback` has succeeded, so each transaction that loses its connection would take a place in the pool for ever.
 */
export function releaseLostConnections(connection: PostgreSqlConnection): void {
  const createDialect = connection.createKyselyDialect.bind(connection)
  connection.createKyselyDialect = (options) => {
    const dialect = createDialect(options)
    const createDriver = dialect.createDriver.bind(dialect)
    return Object.assign(dialect, { createDriver: () => releasing(createDriver()) })
  }
}

function releasing(driver: Driver): Driver {
  const orRelease =
    <Rest extends unknown[]>(run: (connection: DatabaseConnection, ...rest: Rest) => Promise<void>) =>
    async (connection: DatabaseConnection, ...rest: Rest): Promise<void> => {
      try {
        await run.call(driver, connection, ...rest)
      } catch (error) {
        await driver.releaseConnection(connection)
        throw error
      }
    }
  return Object.assign(driver, {
    beginTransaction: orRelease(driver.beginTransaction),
    rollbackTransaction: orRelease(driver.rollbackTransaction),
  })
}
