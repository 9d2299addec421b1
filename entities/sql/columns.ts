import { p } from '@mikro-orm/core'

export const id = p.integer().primary()

const timestamp = () => p.datetime(3).columnType('timestamptz(3)')

/** A point in time in UTC with milliseconds. */
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
/** The surface of a call: the browser front end, or a program with its own credential. */
export type UsageType = (typeof usageTypes)[number]

export const availabilities = ['online', 'offline', 'unknown'] as const
