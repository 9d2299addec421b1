import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Choice } from '../shared/ui/choice.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { RoomFields } from './room-fields.tsx'
import { createRoom } from './rooms.ts'

/** Creates a room with its name, its texts and its picture. */
export function NewRoomDialog({ close, onChoose }: { close: () => void; onChoose: () => void }) {
  const session = useSession()
  const navigate = useNavigate()
  const [texts, setTexts] = useState({ name: '', description: '', systemPrompt: '' })
  const [sharesEarlierKeys, setShares] = useState(true)
  const [picture, setPicture] = useState<File>()
  const save = async () => {
    const { slug } = await createRoom(session, {
      name: texts.name.trim(),
      description: texts.description.trim(),
      systemPrompt: texts.systemPrompt.trim(),
      sharesEarlierKeys,
      picture,
    })
    await navigate({ to: '/rooms/$slug', params: { slug } })
    onChoose()
  }
  return (
    <FormDialog title={t('app.rooms.new')} action={t('app.rooms.create')} save={save} close={close}>
      <RoomFields texts={texts} change={(changed) => setTexts({ ...texts, ...changed })} choosePicture={setPicture} />
      <Choice
        checked={sharesEarlierKeys}
        onChange={({ target }) => setShares(target.checked)}
        label={t('app.rooms.sharesEarlier')}
      />
    </FormDialog>
  )
}
