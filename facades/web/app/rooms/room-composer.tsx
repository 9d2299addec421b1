import { useId, useRef, useState } from 'react'
import { SvcError } from '../../../client/index.ts'
import type { Assistant } from '../shared/api/client.ts'
import { describeError, InputError, isRateLimited } from '../shared/api/error-text.ts'
import { Composer, SendButton, useInsertions, useSubmit } from '../shared/conversation/composer.tsx'
import { useDraft } from '../shared/conversation/draft.ts'
import { ModelButton } from '../shared/models/model-button.tsx'
import { type ChatModel, useChosenModel, useModels } from '../shared/models/models.ts'
import { AnnouncementNotice } from '../shared/notices/announcement-notice.tsx'
import { usePendingAnnouncements } from '../shared/notices/announcements.ts'
import { LateToolQuestions } from '../shared/notices/late-tool-questions.tsx'
import { LimitNotice, refreshLimits } from '../shared/notices/limit-notice.tsx'
import { useIsOnline } from '../shared/online.ts'
import { t } from '../shared/text/labels.ts'
import { Choice } from '../shared/ui/choice.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { useUploads } from '../shared/uploads.ts'
import { askModel, type DisclosurePreview, LAST_MESSAGES, previewDisclosure } from './ask-model.ts'
import { MentionList, useMentionCompletion } from './mention-list.tsx'
import { mentionsAny } from './mentions.ts'
import { OutboxFull } from './message-sender.ts'
import { useTypingSignal } from './presence.ts'
import { canWrite, getAiHandle, getAiHandles, getOwnId } from './room.ts'
import { findAskedAssistant, useRoomAssistants } from './room-assistants.ts'
import styles from './room-composer.module.css'
import { useRoom, useRoomView } from './room-context.ts'
import { sealRoomFile } from './room-files.ts'
import { listPeople } from './room-members.ts'

interface RoomComposerProps {
  /** The id of the message that a reply belongs to. */
  thread: string | null
}

/** The form for a message to the room, or a note for people who may only read. */
export function RoomComposer({ thread }: RoomComposerProps) {
  const room = useRoomView((view) => view.room)
  if (room && !canWrite(room)) return <Notice className={styles.note}>{t('app.rooms.readOnly')}</Notice>
  return <MessageForm thread={thread} />
}

function MessageForm({ thread }: RoomComposerProps) {
  const { session } = useRoom()
  const field = useRef<HTMLTextAreaElement>(null)
  const { draft, uploads, question, chooseAssistant, error, canSubmit, submit } = useMessageForm(thread)
  const sendTyping = useTypingSignal()
  const mentions = useMentionCompletion(draft.text, field, draft.write, chooseAssistant)
  useInsertions(thread === null ? 'room' : 'thread', draft, field)
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
      {uploads.uploads.length > 0 && <p className={styles.hint}>{t('app.rooms.fileNamesHint')}</p>}
      {mentions && <MentionList {...mentions} />}
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
      completion={mentions}
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
      <LateToolQuestions />
      {isQuestion && <LimitNotice />}
      {error !== undefined && (
        <Notice kind={isRateLimited(error) ? 'warning' : 'error'} role="alert">
          {error instanceof OutboxFull ? t('app.rooms.tooManyWaiting') : describeError(error)}
        </Notice>
      )}
      {obstacle !== undefined && <Notice kind="warning">{t(obstacle)}</Notice>}
      {!isOnline && <Notice kind="warning">{t(isQuestion ? 'app.rooms.offlineQuestion' : 'app.rooms.offline')}</Notice>}
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
function useSealedUploads(draftName: string) {
  const room = useRoomView((view) => view.room)
  const keys = useRoomView((view) => view.keys)
  const key = room && keys.get(room.keyEpoch)
  const seal = async (file: File) => {
    if (!room || key === undefined) throw new Error('There is no key to seal with.')
    return sealRoomFile(file, key, room.keyEpoch)
  }
  return useUploads(draftName, { seal })
}

/** Returns the assistant that a text asks, and a function that says which one was chosen from the suggestions. */
function useAskedAssistant(text: string) {
  const assistants = useRoomAssistants()
  const members = useRoomView((view) => view.members)
  const [chosen, chooseAssistant] = useState<string>()
  const people = new Set(listPeople(members).map(({ username }) => username?.toLowerCase() ?? ''))
  return { assistant: findAskedAssistant(text, { assistants, people, chosen }), chooseAssistant }
}

/** Returns the model and the disclosure of a question, if the text mentions an assistant or the AI handle. */
function useQuestion(text: string, thread: string | null, assistant: Assistant | undefined) {
  const { session, store } = useRoom()
  const isQuestion = assistant !== undefined || mentionsAny(text, getAiHandles(session))
  // Renders again for each new message while a model is mentioned, as the disclosure changes.
  useRoomView(({ byId }) => (isQuestion ? byId : undefined))
  const { data: models } = useModels()
  const { model: lastModel, choose } = useChosenModel(models)
  const model = assistant ? models?.find(({ modelId }) => modelId === assistant.model) : lastModel
  const [scope, setScope] = useState<DisclosurePreview['scope']>(thread === null ? 'message' : 'thread')
  const [shouldIncludeFiles, setShouldIncludeFiles] = useState(true)
  if (!isQuestion) return undefined
  const disclosure = previewDisclosure({ view: store.view, thread, scope, text, shouldIncludeFiles })
  return { assistant, models, model, choose, scope, setScope, shouldIncludeFiles, setShouldIncludeFiles, disclosure }
}

/** The message that is being written. */
function useMessageForm(thread: string | null) {
  const { session, store } = useRoom()
  const room = useRoomView((view) => view.room?.id)
  const draftName = `room:${room ?? ''}:${thread ?? ''}`
  const draft = useDraft(session.conversationKey, getOwnId(session), draftName)
  const text = draft.text.trim()
  const uploads = useSealedUploads(draftName)
  const { assistant, chooseAssistant } = useAskedAssistant(text)
  const question = useQuestion(text, thread, assistant)
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
    const asked = { id, thread, disclosure, shouldIncludeFiles }
    if (assistant) await askAssistant(assistant, (name) => askModel(store, { ...asked, model: name }))
    else {
      question.choose(model.modelId)
      await askModel(store, { ...asked, model: model.modelId }).finally(refreshLimits)
    }
  }
  return { draft, uploads, question, chooseAssistant, ...useSubmit(canSend, send) }
}

/** Asks an assistant, and says in the words of the room that the person may no longer do so. */
async function askAssistant({ handle }: Assistant, ask: (name: string) => Promise<void>): Promise<void> {
  try {
    await ask(`assistant/${handle}`)
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'not_permitted') throw error
    throw new InputError(t('app.rooms.assistantRefused', { handle }))
  } finally {
    refreshLimits()
  }
}

interface AskPanelProps {
  assistant: Assistant | undefined
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
  const { assistant, models, model, choose, scope, setScope, disclosure, hasThread } = props
  const { shouldIncludeFiles, setShouldIncludeFiles } = props
  const id = useId()
  const scopes = hasThread ? (['message', 'thread', 'last'] as const) : (['message', 'last'] as const)
  return (
    <fieldset className={styles.question}>
      <legend className="off-screen">{t('app.rooms.ask')}</legend>
      <p className={styles.model}>
        {assistant ? (
          t(model ? 'app.rooms.askAssistant' : 'app.rooms.assistantModelGone', {
            name: assistant.name,
            model: model?.label ?? assistant.model,
          })
        ) : (
          <>
            {t('app.rooms.ask')} <ModelButton models={models} model={model} choose={choose} />
          </>
        )}
        {model && <span className="hint">{model.providerName}</span>}
      </p>
      {assistant?.knowledge && (
        <p className="hint">
          {t('app.rooms.ask.mayQuote', { name: assistant.knowledge.name })}
          {assistant.knowledge.embedding !== null &&
            ` ${t('app.rooms.ask.embeds', { model: assistant.knowledge.embedding })}`}
        </p>
      )}
      {scopes.map((each) => (
        <Choice
          key={each}
          type="radio"
          name={id}
          label={t(scopeLabels[each], { count: LAST_MESSAGES })}
          checked={scope === each}
          onChange={() => setScope(each)}
        />
      ))}
      {disclosure.files.length > 0 || !shouldIncludeFiles ? (
        <Choice
          label={
            <>
              {t('app.rooms.ask.files')}
              <span className="hint">{disclosure.files.map(({ name }) => name).join(', ')}</span>
            </>
          }
          checked={shouldIncludeFiles}
          onChange={({ target }) => setShouldIncludeFiles(target.checked)}
        />
      ) : null}
      <p className="hint">
        {t('app.rooms.ask.size', { count: disclosure.messages.length + 1, tokens: disclosure.tokens })}
      </p>
    </fieldset>
  )
}
