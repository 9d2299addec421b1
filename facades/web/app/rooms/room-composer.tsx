import { useId, useRef, useState } from 'react'
import { describeError, InputError, isRateLimited } from '../shared/api/error-text.ts'
import { Composer, SendButton, useDraft, useQuotations, useSubmit } from '../shared/conversation/composer.tsx'
import { ModelButton } from '../shared/models/model-button.tsx'
import { type ChatModel, useChosenModel, useModels } from '../shared/models/models.ts'
import { AnnouncementNotice } from '../shared/notices/announcement-notice.tsx'
import { usePendingAnnouncements } from '../shared/notices/announcements.ts'
import { LimitNotice, refreshLimits } from '../shared/notices/limit-notice.tsx'
import { useIsOnline } from '../shared/online.ts'
import { t } from '../shared/text/labels.ts'
import { useUploads } from '../shared/uploads.tsx'
import { askModel, type DisclosurePreview, LAST_MESSAGES, previewDisclosure } from './ask-model.ts'
import { mentionsUser } from './mentions.ts'
import { OutboxFull } from './message-sender.ts'
import { useTypingSignal } from './presence.ts'
import { canWrite, getAiHandle, getOwnId } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { sealRoomFile } from './room-files.ts'
import { getMemberName, listPeople } from './room-members.ts'

interface RoomComposerProps {
  /** The id of the message that a reply belongs to. */
  thread: string | null
}

/** The form for a message to the room, or a note for people who may only read. */
export function RoomComposer({ thread }: RoomComposerProps) {
  const room = useRoomView((view) => view.room)
  if (room && !canWrite(room)) return <p className="notice read-only">{t('app.rooms.readOnly')}</p>
  return <MessageForm thread={thread} />
}

function MessageForm({ thread }: RoomComposerProps) {
  const { session } = useRoom()
  const field = useRef<HTMLTextAreaElement>(null)
  const { draft, uploads, question, error, canSubmit, submit } = useMessageForm(thread)
  const sendTyping = useTypingSignal()
  useQuotations(thread === null ? 'room' : 'thread', draft, field)
  const write = (text: string) => {
    draft.write(text)
    if (text !== '') sendTyping()
  }
  const placeholder = t(thread === null ? 'app.rooms.placeholder' : 'app.rooms.reply', { handle: getAiHandle(session) })
  const notices = (
    <>
      <Notices error={error} isQuestion={question !== undefined} />
      {question && <AskPanel {...question} hasThread={thread !== null} />}
    </>
  )
  const hints = (
    <>
      {uploads.uploads.length > 0 && <p className="hint names-hint">{t('app.rooms.fileNamesHint')}</p>}
      <MentionList text={draft.text} field={field} write={draft.write} />
    </>
  )
  return (
    <Composer
      field={field}
      text={draft.text}
      write={write}
      uploads={uploads}
      placeholder={placeholder}
      submit={submit}
      notices={notices}
      hints={hints}
      sendButton={<SendButton disabled={!canSubmit} />}
    />
  )
}

/** Notices that explain why nothing can be sent. */
function Notices({ error, isQuestion }: { error: unknown; isQuestion: boolean }) {
  const isOnline = useIsOnline()
  const obstacle = useObstacle()
  return (
    <>
      <AnnouncementNotice />
      {isQuestion && <LimitNotice />}
      {error !== undefined && (
        <p className={isRateLimited(error) ? 'notice warn' : 'notice wrong'} role="alert">
          {error instanceof OutboxFull ? t('app.rooms.tooManyWaiting') : describeError(error)}
        </p>
      )}
      {obstacle !== undefined && <p className="notice warn">{t(obstacle)}</p>}
      {!isOnline && <p className="notice warn">{t(isQuestion ? 'app.rooms.offlineQuestion' : 'app.rooms.offline')}</p>}
    </>
  )
}

/** Returns the label of the reason why nothing can be written, if there is one. */
function useObstacle(): string | undefined {
  const room = useRoomView((view) => view.room)
  const keys = useRoomView((view) => view.keys)
  if (!room || keys.has(room.keyEpoch)) return undefined
  return room.rekeyRequired ? 'app.rooms.rekeying' : 'app.rooms.noKey'
}

/** Uploads files encrypted with the current room key. */
function useSealedUploads() {
  const room = useRoomView((view) => view.room)
  const keys = useRoomView((view) => view.keys)
  const key = room && keys.get(room.keyEpoch)
  return useUploads(async (file) => {
    if (!room || key === undefined) throw new Error('There is no key to seal with.')
    return sealRoomFile(file, key, room.keyEpoch)
  })
}

/** Returns the model and the disclosure of a question, if the text mentions the AI handle. */
function useQuestion(text: string, thread: string | null) {
  const { session, store } = useRoom()
  const isQuestion = mentionsUser(text, getAiHandle(session))
  // Renders again for each new message while a model is mentioned, as the disclosure changes.
  useRoomView(({ byId }) => (isQuestion ? byId : undefined))
  const { data: models } = useModels()
  const { model, choose } = useChosenModel(models)
  const [scope, setScope] = useState<DisclosurePreview['scope']>(thread === null ? 'message' : 'thread')
  const [shouldIncludeFiles, setShouldIncludeFiles] = useState(true)
  if (!isQuestion) return undefined
  const disclosure = previewDisclosure({ view: store.view, thread, scope, text, shouldIncludeFiles })
  return { models, model, choose, scope, setScope, shouldIncludeFiles, setShouldIncludeFiles, disclosure }
}

/** The message that is being written. */
function useMessageForm(thread: string | null) {
  const { session, store } = useRoom()
  const room = useRoomView((view) => view.room?.id)
  const draft = useDraft(session.conversationKey, getOwnId(session), `room:${room ?? ''}:${thread ?? ''}`)
  const text = draft.text.trim()
  const uploads = useSealedUploads()
  const question = useQuestion(text, thread)
  const isOnline = useIsOnline()
  const obstacle = useObstacle()
  const hasContent = (text !== '' || uploads.ids.length > 0) && !uploads.isUploading
  // Questions are not queued while offline: the answer would cost money when nobody is there to read it.
  const canAsk = question === undefined || (isOnline && question.model !== undefined)
  const isBlocked = usePendingAnnouncements().some(({ isForced }) => isForced)
  const canSend = hasContent && canAsk && !isBlocked && obstacle === undefined
  const send = async () => {
    const clientId = (await store.sender?.send(text, uploads.ids, thread)) ?? ''
    draft.clear(draft.text)
    uploads.clear()
    if (!question?.model) return
    const id = await store.waitUntilSent(clientId)
    if (id === undefined) throw new InputError(t('app.rooms.notAsked'))
    const { model, disclosure, shouldIncludeFiles } = question
    await askModel(store, { id, thread, model: model.modelId, disclosure, shouldIncludeFiles }).finally(refreshLimits)
  }
  return { draft, uploads, question, ...useSubmit(canSend, send) }
}

interface AskPanelProps {
  models: readonly ChatModel[] | undefined
  model: ChatModel | undefined
  choose: (modelId: string) => void
  scope: DisclosurePreview['scope']
  setScope: (scope: DisclosurePreview['scope']) => void
  shouldIncludeFiles: boolean
  setShouldIncludeFiles: (shouldIncludeFiles: boolean) => void
  disclosure: DisclosurePreview
  hasThread: boolean
}

const scopeLabels = {
  message: 'app.rooms.ask.message',
  thread: 'app.rooms.ask.thread',
  last: 'app.rooms.ask.last',
} as const

/** Previews the data that a model will receive, and lets the person choose it. */
function AskPanel(props: AskPanelProps) {
  const { models, model, choose, scope, setScope, disclosure, hasThread } = props
  const { shouldIncludeFiles, setShouldIncludeFiles } = props
  const id = useId()
  const scopes = hasThread ? (['message', 'thread', 'last'] as const) : (['message', 'last'] as const)
  return (
    <fieldset className="ask-panel">
      <legend className="off-screen">{t('app.rooms.ask')}</legend>
      <p>
        {t('app.rooms.ask')} <ModelButton models={models} model={model} choose={choose} />
        {model && <span className="hint">{model.providerName}</span>}
      </p>
      {scopes.map((each) => (
        <label key={each} className="choice">
          <input type="radio" name={id} checked={scope === each} onChange={() => setScope(each)} />
          {t(scopeLabels[each], { count: LAST_MESSAGES })}
        </label>
      ))}
      {disclosure.files.length > 0 || !shouldIncludeFiles ? (
        <label className="choice">
          <input
            type="checkbox"
            checked={shouldIncludeFiles}
            onChange={({ target }) => setShouldIncludeFiles(target.checked)}
          />
          {t('app.rooms.ask.files')}
          <span className="hint">{disclosure.files.map(({ name }) => name).join(', ')}</span>
        </label>
      ) : null}
      <p className="hint">
        {t('app.rooms.ask.size', { count: disclosure.messages.length + 1, tokens: disclosure.tokens })}
      </p>
    </fieldset>
  )
}

interface MentionListProps {
  text: string
  field: { current: HTMLTextAreaElement | null }
  write: (text: string) => void
}

const MAX_SUGGESTIONS = 5

/** Suggests members for the word after the last `@`. */
function MentionList({ text, field, write }: MentionListProps) {
  const { session } = useRoom()
  const members = useRoomView((view) => view.members)
  const ownMemberId = useRoomView((view) => view.ownMember?.id)
  const typed = /(?:^|\s)@([\w.-]*)$/.exec(text)?.[1]
  if (typed === undefined) return null
  const people = listPeople(members)
    .filter(({ id }) => id !== ownMemberId)
    .map((member) => ({ word: member.username ?? '', name: getMemberName(member) }))
  const candidates = [{ word: getAiHandle(session), name: t('app.rooms.aModel') }, ...people]
  const needle = typed.toLocaleLowerCase()
  const suggestions = candidates
    .filter(({ word, name }) => word.toLowerCase().startsWith(needle) || name.toLocaleLowerCase().startsWith(needle))
    .filter(({ word }) => word !== typed)
    .slice(0, MAX_SUGGESTIONS)
  if (suggestions.length === 0) return null
  const choose = (word: string) => {
    write(`${text.slice(0, text.length - typed.length)}${word} `)
    field.current?.focus()
  }
  return (
    <ul className="mention-list" aria-label={t('app.rooms.mention')}>
      {suggestions.map(({ word, name }) => (
        <li key={word}>
          <button type="button" className="plain-button" onClick={() => choose(word)}>
            {name} <span className="hint">@{word}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
