import type { ChangeTransaction } from '../core/change-recorder.ts'
import type { Context } from '../core/context.ts'
import type { ResourceRecord } from '../resource/record.ts'
import { RowReader } from '../verbs/rows.ts'

interface SharedMessages extends ChangeTransaction {
  room: number
  ids: readonly string[]
  /** True if none of the messages has files, which then are not looked for. */
  areWithoutFiles?: boolean
}

/**
 * Adds messages with their files to their changes, so that the browsers of the members need not read them. They are read
 * in the transaction that writes them: a later state may be for other members. Returns them without the files.
 */
export async function shareMessages(
  ctx: Context,
  { em, changes, room, ids, areWithoutFiles = false }: SharedMessages,
): Promise<ResourceRecord[]> {
  const of = ctx.services.records.resources.of('room-messages')
  const records = await new RowReader(ctx, em).byIds(of, ids, areWithoutFiles ? [] : ['attachments'])
  return records.map((record) => {
    const { attachments = [], ...relations } = record.relations
    changes.addRecord(`room:${room}`, of.type, { ...record, relations: { ...relations, attachments } })
    return { ...record, relations }
  })
}
