import { useNavigate } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { isNotFound } from '../shared/api/error-text.ts'
import { ModelButton } from '../shared/models/model-button.tsx'
import { type ChatModel, useChosenModel, useModels } from '../shared/models/models.ts'
import { AnnouncementNotice } from '../shared/notices/announcement-notice.tsx'
import { usePendingAnnouncements } from '../shared/notices/announcements.ts'
import { LimitNotice } from '../shared/notices/limit-notice.tsx'
import { useIsOnline } from '../shared/online.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { moveOptions } from './chat-options.ts'
import type { ChatOptionsProps } from './chat-options-dialog.tsx'
import { type Question, requestAnswer, storeQuestion } from './chat-requests.ts'
import { ActionsProvider, useChat } from './chat-state.ts'
import { QuestionComposer } from './composer.tsx'
import { createConversation, useConversation } from './conversations.ts'
import { MessageList } from './message-list.tsx'
import { type Turn, turns } from './turn.ts'
import './chat.css'

/** Shows a conversation, or the page that starts one. */
export const ChatPage = ({ slug }: { slug?: string }) => (slug === undefined ? <NewChat /> : <Chat slug={slug} />)

/** The model of a fresh installation, which answers one sample question. */
const DEMO_MODEL = 'demo'

function NewChat() {
  const { data: models, error } = useModels()
  const { model, choose } = useChosenModel(models)
  const canSend = !useIsSendingBlocked() && model !== undefined
  const send = useFirstQuestion(model)
  usePageTitle(t('app.chat.new'))
  return (
    <main id="main" className="chat">
      <ChatHead models={models} model={model} choose={choose}>
        <h1>{t('app.chat.new')}</h1>
      </ChatHead>
      <div className="empty">
        <p className="lead">{t('app.chat.empty')}</p>
        {model?.modelId === DEMO_MODEL && <SampleQuestion canSend={canSend} send={send} />}
      </div>
      <QuestionComposer
        slug={undefined}
        canSend={canSend}
        obstacle={<SendObstacles error={models ? undefined : error} />}
        send={send}
      >
        <ChatOptionsButton slug={undefined} systemPrompt="" />
      </QuestionComposer>
    </main>
  )
}

/** Returns a function that creates a conversation with its first question. */
function useFirstQuestion(model: ChatModel | undefined) {
  const { connection, conversationKey: key } = useSession()
  const navigate = useNavigate()
  // A question that could not be sent is tried again in the same conversation.
  const created = useRef<string>(undefined)
  return async (question: Question) => {
    if (!model) return
    created.current ??= (await createConversation()).slug
    const slug = created.current
    const chat = { slug, key, modelId: model.modelId }
    const number = await storeQuestion(chat, question, 0).catch((error: unknown) => {
      // The person has deleted the conversation meanwhile.
      if (isNotFound(error)) created.current = undefined
      throw error
    })
    moveOptions(String(connection.userinfo?.id), slug)
    requestAnswer(chat, number)
    await navigate({ to: '/chat/$slug', params: { slug }, replace: true })
  }
}

interface SampleQuestionProps {
  canSend: boolean
  send: (question: Question) => Promise<void>
}

/** A button that asks a sample question. */
function SampleQuestion({ canSend, send }: SampleQuestionProps) {
  const [state, setState] = useState<'ready' | 'sending' | { error: unknown }>('ready')
  const ask = async () => {
    setState('sending')
    await send({ text: t('app.chat.demo'), attachments: [] }).then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  return (
    <>
      <button type="button" className="quiet-button" disabled={!canSend || state === 'sending'} onClick={ask}>
        {t('app.chat.demo')}
      </button>
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
    </>
  )
}

function Chat({ slug }: { slug: string }) {
  const { query, models, modelsError, model, choose, turn, shown, actions, systemPrompt, targetNumber } = useChat(slug)
  const isBlocked = useIsSendingBlocked()
  const isLoaded = query.data !== undefined && systemPrompt.text !== undefined
  const promptError = query.isLoadingError ? undefined : systemPrompt.error
  return (
    <ActionsProvider value={actions}>
      <main id="main" className="chat">
        <ChatHead models={models} model={model} choose={choose}>
          <ConversationTitle slug={slug} />
        </ChatHead>
        {query.isLoadingError ? (
          <ErrorMessage error={query.error} className="notice wrong" />
        ) : (
          <MessageList
            {...shown}
            targetNumber={targetNumber}
            models={models ?? []}
            hasEarlier={query.hasNextPage}
            earlierError={query.isFetchNextPageError ? query.error : undefined}
            loadEarlier={() => void query.fetchNextPage()}
          />
        )}
        <AnswerAnnouncer turn={turn} />
        <QuestionComposer
          slug={slug}
          canSend={model !== undefined && isLoaded && !isBlocked}
          isAnswering={turns.isAnswering(slug)}
          obstacle={<SendObstacles error={models ? promptError : modelsError} />}
          send={actions.send}
          stop={actions.stop}
        >
          <ChatOptionsButton
            slug={slug}
            systemPrompt={systemPrompt.text}
            disabled={systemPrompt.text === undefined && !systemPrompt.isUnreadable}
          />
        </QuestionComposer>
      </main>
    </ActionsProvider>
  )
}

/** Returns true if nothing can be sent for now. */
function useIsSendingBlocked(): boolean {
  const mustAccept = usePendingAnnouncements().some(({ isForced }) => isForced)
  return !useIsOnline() || mustAccept
}

const OfflineNotice = () => !useIsOnline() && <p className="notice warn">{t('app.offline')}</p>

interface ChatHeadProps {
  models: readonly ChatModel[] | undefined
  model: ChatModel | undefined
  choose: (modelId: string) => void
  children: ReactNode
}

const ChatHead = ({ models, model, choose, children }: ChatHeadProps) => (
  <PageHead>
    {children}
    <ModelButton models={models} model={model} choose={choose} />
  </PageHead>
)

/** The notices that explain why nothing can be sent. */
const SendObstacles = ({ error }: { error: unknown }) => (
  <>
    <ErrorMessage error={error} className="notice wrong" />
    <OfflineNotice />
    <AnnouncementNotice />
    <LimitNotice />
  </>
)

function ConversationTitle({ slug }: { slug: string }) {
  const { data } = useConversation(slug)
  usePageTitle(data?.name ?? t('app.chats'))
  return <h1 dir="auto">{data?.name}</h1>
}

const ChatOptionsDialog = lazy(async () => ({ default: (await import('./chat-options-dialog.tsx')).ChatOptionsDialog }))

/** Opens the options of a conversation. */
function ChatOptionsButton({ disabled = false, ...props }: ChatOptionsProps & { disabled?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IconButton
        icon="settings"
        label={t('app.options')}
        aria-haspopup="dialog"
        disabled={disabled}
        onClick={() => setOpen(true)}
      />
      {isOpen && (
        <Suspense>
          <ChatOptionsDialog {...props} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}

/** Tells screen readers when an answer starts and how it ends, but not its text in between. */
function AnswerAnnouncer({ turn }: { turn: Turn | undefined }) {
  const [text, setText] = useState('')
  const last = useRef<Turn>(undefined)
  useEffect(() => {
    const before = last.current
    last.current = turn
    if (turn && turn.phase !== 'failed' && (!before || before.phase === 'failed')) setText(t('app.progress.begins'))
    if (turn?.phase === 'failed' && before?.phase !== 'failed') setText(t('app.progress.failed'))
    if (!turn && before && before.phase !== 'failed') setText(describeEnd(before))
  }, [turn])
  return (
    <p className="off-screen" role="status">
      {text}
    </p>
  )
}

const describeEnd = ({ answer }: Turn) =>
  answer.cut === 'stopped'
    ? t('app.progress.stopped')
    : t('app.progress.complete', { count: answer.text.split(/\s+/).filter(Boolean).length })
