import { defineEntity, p } from '@mikro-orm/core'
import { id, moment } from '../sql/columns.ts'
import { User } from './user.ts'

const exportStates = ['waiting', 'ready', 'failed'] as const
export type ExportState = (typeof exportStates)[number]

/** A copy of a person's data that they have requested. Its archive is in a separate file store until it expires. */
export const PersonExport = defineEntity({
  name: 'PersonExport',
  tableName: 'person_exports',
  properties: {
    id,
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    state: p.enum(exportStates).default('waiting'),
    requestedAt: moment().defaultRaw('now()'),
    /** Time of completion or failure. */
    endedAt: moment().nullable(),
    /** The row and the archive are deleted then. */
    expiresAt: moment().index(),
    /** The other columns belong to the finished archive: its name in the file store, its size, and its sealed key. */
    file: p.uuid().nullable().hidden(),
    bytes: p.bigint('number').nullable(),
    sealedKey: p.string().nullable().hidden(),
  },
  checks: [
    {
      name: 'person_exports_file_check',
      expression: `(state = 'ready') = (num_nonnulls(file, bytes, sealed_key) = 3)`,
    },
  ],
})
