import { defineEntity, p } from '@mikro-orm/core'
import { id, moment } from '../sql/columns.ts'
import { User } from './user.ts'

const exportStates = ['waiting', 'ready', 'failed'] as const
export type ExportState = (typeof exportStates)[number]

/** A copy of a person's data, which they have asked for. Its archive lies in a file store of its own until it expires. */
export const PersonExport = defineEntity({
  name: 'PersonExport',
  tableName: 'person_exports',
  properties: {
    id,
    user: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    state: p.enum(exportStates).default('waiting'),
    requestedAt: moment().defaultRaw('now()'),
    /** When it was ready, or had failed. */
    endedAt: moment().nullable(),
    /** The archive goes then, with this row. */
    expiresAt: moment().index(),
    /** The rest is of the archive, once it is ready: its name in the file store, its size, and its key, sealed. */
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
