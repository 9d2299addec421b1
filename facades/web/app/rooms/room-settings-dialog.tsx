import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { readBase64 } from '../shared/read-base64.ts'
import { t } from '../shared/text/labels.ts'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { isKeyRefused } from './message-sender.ts'
import { useRoom } from './room-context.ts'
import { RoomFields } from './room-fields.tsx'
import { refreshRooms, saveRoomTexts } from './rooms.ts'

/** Edits the name, the texts and the picture of a room. */
export function RoomSettingsDialog({ close }: { close: () => void }) {
  const { session, store } = useRoom()
  // The fields keep their first values, so that a change by somebody else does not overwrite them.
  const [{ room, description, systemPrompt }] = useState(store.view)
  const [texts, setTexts] = useState({ name: room?.name ?? '', description, systemPrompt })
  const [picture, setPicture] = useState<File>()
  const save = async () => {
    if (!room) return
    const avatar = picture && (await readBase64(picture))
    if (texts.name.trim() !== room.name || avatar !== undefined)
      await api.rooms.update.mutate({ id: room.id, name: texts.name.trim(), ...(avatar !== undefined && { avatar }) })
    const changes = {
      ...(isChanged(texts.description, description) && { description: texts.description }),
      ...(isChanged(texts.systemPrompt, systemPrompt) && { systemPrompt: texts.systemPrompt }),
    }
    await saveRoomTexts(session, room, changes).catch(async (error: unknown) => {
      // The service wants a key that no former member has.
      if (isKeyRefused(error)) await store.refreshKeys().catch(() => {})
      const current = store.view.room
      if (!current || current.keyEpoch === room.keyEpoch) throw error
      await saveRoomTexts(session, current, changes)
    })
    await refreshRooms()
  }
  return (
    <FormDialog title={t('app.rooms.settings')} action={t('app.save')} save={save} close={close}>
      <RoomFields texts={texts} change={(changed) => setTexts({ ...texts, ...changed })} choosePicture={setPicture} />
    </FormDialog>
  )
}

/** Compares a field with the text before; an empty field keeps a text that cannot be decrypted. */
const isChanged = (text: string | undefined, before: string | undefined): text is string =>
  (text ?? '') !== (before ?? '')
