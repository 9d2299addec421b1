import { defineCommand } from 'citty'
import { currentSettings } from '../server/env.ts'
import { json, type Session } from './session.ts'
import { table } from './table.ts'

/** Needs no valid settings: it is what somebody looks at when they are not. */
export const settings = (session: Session) =>
  defineCommand({
    meta: { description: 'List all settings with their type, default, current value and meaning' },
    args: { json },
    run() {
      const record = currentSettings(session.env)
      session.tell({ record, words: table(record, '') })
    },
  })
