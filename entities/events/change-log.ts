import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'

/** The last number of each stream. Writers lock the row until the commit, so that there are no gaps. */
export const ChangeStream = defineEntity({
  name: 'ChangeStream',
  tableName: 'change_streams',
  properties: {
    /** `room:{id}`, `user:{id}`, `all`, or `admins` for what only administrators see. */
    stream: p.string().length(40).primary(),
    seq: p.bigint('number'),
  },
})

/** A change, written in the transaction that made it. Rows are partitioned by day, and deleted with their day. */
export const ChangeLogEntry = defineEntity({
  name: 'ChangeLogEntry',
  tableName: 'change_log',
  partitionBy: {
    type: 'range',
    expression: 'at',
    partitions: [{ name: 'change_log_default', values: 'default' }],
  },
  properties: {
    stream: p.string().length(40).primary(),
    seq: p.bigint('number').primary(),
    at: moment().defaultRaw('clock_timestamp()').primary(),
    /** The type and its change, such as `room-messages.created`; for administrators the called procedure. */
    kind: p.string().length(60),
    /** The id of the resource that changed. */
    subject: p.string().length(40),
  },
})

/** Restores of the database reported by the operator, after which numbers may be assigned again. */
export const ChangeEpoch = defineEntity({
  name: 'ChangeEpoch',
  tableName: 'change_epochs',
  properties: {
    epoch: p.uuid().defaultRaw('gen_random_uuid()').primary(),
    at: moment().defaultRaw('clock_timestamp()'),
  },
})
