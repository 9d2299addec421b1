import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'

/** The last number of each stream. Whoever writes to a stream locks its row until the commit, so that no number is missing. */
export const ChangeStream = defineEntity({
  name: 'ChangeStream',
  tableName: 'change_streams',
  properties: {
    /** `room:{id}`, `user:{id}`, `all`, or `admins` for what only administrators see. */
    stream: p.string().length(40).primary(),
    seq: p.bigint('number'),
  },
})

/** What has changed, written in the transaction that made it true. Rows lie in partitions by day, and go with their day. */
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
    /** The type and what happened to it, such as `room-messages.created`; for administrators the procedure that was called. */
    kind: p.string().length(60),
    /** The id of the resource that changed. */
    subject: p.string().length(40),
  },
})

/** Each time when somebody said that the database was restored, and numbers may be given a second time. */
export const ChangeEpoch = defineEntity({
  name: 'ChangeEpoch',
  tableName: 'change_epochs',
  properties: {
    epoch: p.uuid().defaultRaw('gen_random_uuid()').primary(),
    at: moment().defaultRaw('clock_timestamp()'),
  },
})
