import { type FormEvent, useRef, useState } from 'react'
import { usePendingAnnouncements } from '../shared/announcements.ts'
import { errorText, isRefusedForNow } from '../shared/api/error-text.ts'
import { useDraft } from '../shared/composer/drafts.ts'
import { AttachButton, dropTarget, MessageField, SendButton } from '../shared/composer/message-field.tsx'
import { useQuotations } from '../shared/composer/quotations.ts'
import { UploadList } from '../shared/files/upload-list.tsx'
import { useUploads } from '../shared/files/uploads.ts'
import { useChosenModel, useModels } from '../shared/models/models.ts'
import { AnnouncementNotice } from '../shared/notices/announcement-notice.tsx'
import { LimitNotice, refreshLimits } from '../shared/notices/limit-notice.tsx'
import { useIsOnline } from '../shared/online.ts'
import { t } from '../shared/text/labels.ts'
import { askModel, type Disclosed, disclose } from './ask-model.ts'
import { AskPanel } from './ask-panel.tsx'
import { MentionList } from './mention-list.tsx'
import { names } from './mentions.ts'
import { TooManyWaiting } from './message-sender.ts'
import { useTyping } from './presence.ts'
import { handleOf, mayWrite, ownId } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { sealBlob } from './room-files.ts'

interface RoomComposerProps {
  /** The message that is replied to. */
  thread: string | null
}

/** Where a message to the room is written; who may only read is told so. */
export function RoomComposer({ thread }: RoomComposerProps) {
  const room = useRoomView((view) => view.room)
  if (room && !mayWrite(room)) return <p className="notice read-only">{t('app.rooms.readOnly')}</p>
  return <WritingForm thread={thread} />
}

function WritingForm({ thread }: RoomComposerProps) {
  const { session } = useRoom()
  const field = useRef<HTMLTextAreaElement>(null)
  const { draft, uploads, question, error, maySend, submit } = useWriting(thread)
  const tell = useTyping()
  useQuotations(thread === null ? 'room' : 'thread', draft, field)
  const write = (text: string) => {
    draft.write(text)
    if (text !== '') tell()
  }
  const placeholder = t(thread === null ? 'app.rooms.placeholder' : 'app.rooms.reply', { handle: handleOf(session) })
  return (
    <form className="composer" onSubmit={(event) => void submit(event)} {...dropTarget(uploads.add)}>
      <Notices error={error} isQuestion={question !== undefined} />
      {question && <AskPanel {...question} hasThread={thread !== null} />}
      <div className="composer-field">
        <UploadList uploads={uploads.uploads} remove={uploads.remove} />
        {uploads.uploads.length > 0 && <p className="hint names-hint">{t('app.rooms.fileNamesHint')}</p>}
        <MentionList text={draft.text} field={field} write={draft.write} />
        <MessageField field={field} text={draft.text} placeholder={placeholder} write={write} addFiles={uploads.add} />
        <div className="composer-tools">
          <AttachButton add={uploads.add} />
          <span className="spacer" />
          <SendButton disabled={!maySend} />
        </div>
      </div>
    </form>
  )
}

/** What stands between a person and their next message. */
function Notices({ error, isQuestion }: { error: unknown; isQuestion: boolean }) {
  const isOnline = useIsOnline()
  const obstacle = useObstacle()
  return (
    <>
      <AnnouncementNotice />
      {isQuestion && <LimitNotice />}
      {error !== undefined && (
        <p className={isRefusedForNow(error) ? 'notice warn' : 'notice wrong'} role="alert">
          {error instanceof TooManyWaiting ? t('app.rooms.tooManyWaiting') : errorText(error)}
        </p>
      )}
      {obstacle !== undefined && <p className="notice warn">{t(obstacle)}</p>}
      {!isOnline && <p className="notice warn">{t(isQuestion ? 'app.rooms.offlineQuestion' : 'app.rooms.offline')}</p>}
    </>
  )
}

/** Why nothing can be written, where that is so. */
function useObstacle(): string | undefined {
  const room = useRoomView((view) => view.room)
  const keys = useRoomView((view) => view.keys)
  if (!room || keys.has(room.keyEpoch)) return undefined
  return room.rekeyRequired ? 'app.rooms.rekeying' : 'app.rooms.noKey'
}

/** The files that go along, sealed with the key in use. */
function useSealedUploads() {
  const room = useRoomView((view) => view.room)
  const keys = useRoomView((view) => view.keys)
  const key = room && keys.get(room.keyEpoch)
  return useUploads(async (file) => {
    if (!room || key === undefined) throw new Error('There is no key to seal with.')
    return sealBlob(file, key, room.keyEpoch)
  })
}

/** What a model would be asked and given, where its handle stands in a text. */
function useQuestion(text: string, thread: string | null) {
  const { session, store } = useRoom()
  const isQuestion = names(text, handleOf(session))
  // Each message changes the count of what is disclosed, as long as a model is asked.
  useRoomView(({ byId }) => (isQuestion ? byId : undefined))
  const { data: models } = useModels()
  const { model, choose } = useChosenModel(models)
  const [scope, setScope] = useState<Disclosed['scope']>(thread === null ? 'message' : 'thread')
  const [withFiles, setWithFiles] = useState(true)
  if (!isQuestion) return undefined
  const disclosed = disclose({ view: store.view, thread, scope, text, withFiles })
  return { models, model, choose, scope, setScope, withFiles, setWithFiles, disclosed }
}

/** What is being written, and its way out. */
function useWriting(thread: string | null) {
  const { session, store } = useRoom()
  const room = useRoomView((view) => view.room?.id)
  const draft = useDraft(session.conversationKey, ownId(session), `room:${room ?? ''}:${thread ?? ''}`)
  const text = draft.text.trim()
  const uploads = useSealedUploads()
  const question = useQuestion(text, thread)
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const isOnline = useIsOnline()
  const obstacle = useObstacle()
  const hasContent = (text !== '' || uploads.ids.length > 0) && !uploads.isUploading
  // A question is never kept for later: it would cost money when nobody looks.
  const mayAsk = question === undefined || (isOnline && question.model !== undefined)
  const isBlocked = usePendingAnnouncements().some(({ isForced }) => isForced)
  const maySend = hasContent && mayAsk && !isBlocked && obstacle === undefined && state !== 'sending'
  const send = async () => {
    const clientId = (await store.sender?.send(text, uploads.ids, thread)) ?? ''
    draft.clear()
    uploads.clear()
    if (!question?.model) return
    const id = await store.whenSent(clientId)
    if (id === undefined) return
    const { model, disclosed, withFiles } = question
    await askModel(store, { id, thread, model: model.modelId, disclosed, withFiles }).finally(refreshLimits)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!maySend) return
    setState('sending')
    await send().then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  const error = typeof state === 'object' ? state.error : undefined
  return { draft, uploads, question, error, maySend, submit }
}
