import { p } from '@mikro-orm/core'

export const id = p.integer().primary()

const timestamp = () => p.datetime(3).columnType('timestamptz(3)')

/** A point in time, kept in UTC with milliseconds. */
export const moment = timestamp

export const timestamps = {
  createdAt: timestamp()
    .defaultRaw('now()')
    .onCreate(() => new Date()),
  updatedAt: timestamp()
    .defaultRaw('now()')
    .onCreate(() => new Date())
    .onUpdate(() => new Date()),
}

export const usageTypes = ['main', 'external'] as const
/** Through which surface a call comes: the browser front end, or a program with a credential of its own. */
export type UsageType = (typeof usageTypes)[number]

export const availabilities = ['online', 'offline', 'unknown'] as const
