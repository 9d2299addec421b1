import type { ChangeRecorder, ChangeTransaction } from '../core/change-recorder.ts'
import type { Context } from '../core/context.ts'
import type { RecordRef } from '../resource/record.ts'
import { RowReader } from '../verbs/rows.ts'
import { roomMessages } from './room-messages.ts'

interface SharedMessages extends ChangeTransaction {
  room: number
  ids: readonly string[]
  /** True if none of the messages has files, which then are not looked for. */
  areWithoutFiles?: boolean
}

/**
 * Adds messages with their files to their changes, so that the browsers of the members need not read them. They are read
 * in the transaction that writes them: a later state may be for other members.
 */
export async function shareMessages(
  ctx: Context,
  { em, changes, room, ids, areWithoutFiles = false }: SharedMessages,
): Promise<void> {
  const records = await new RowReader(ctx, em).byIds(roomMessages, ids, areWithoutFiles ? [] : ['attachments'])
  for (const record of records) addMessageRecord(changes, room, record)
}

/** Adds a message to its changes. Its relation to files is empty unless it was included. */
export function addMessageRecord(changes: ChangeRecorder, room: number, record: RecordRef): void {
  const relations = { attachments: [], ...record.relations }
  changes.addRecord(`room:${room}`, roomMessages.type, { ...record, relations })
}
