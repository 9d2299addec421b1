import { ChangeStream } from '../events/change-log.ts'
/**
 * A number that rises with each change of what everybody may see: models, providers, tools and their servers. Whatever changes
 * one of these writes it to the change log, in the same transaction.
 */
export const catalogueVersion = `coalesce((select seq from ${ChangeStream.tableName} where stream = 'all'), 0)`
