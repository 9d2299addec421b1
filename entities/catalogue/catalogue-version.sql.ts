import { ChangeStream } from '../events/change-log.ts'
/**
 * A number that rises with each change of the public catalogue: models, providers, tools and their servers. Every such
 * change is logged in the same transaction.
 */
export const catalogueVersion = `coalesce((select seq from ${ChangeStream.tableName} where stream = 'all'), 0)`
