import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { api } from '../shared/api/client.ts'
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
import { PageHead } from '../shared/ui/page-head.tsx'
import { moveOptions } from './chat-options.ts'
import type { ChatOptionsProps } from './chat-options-dialog.tsx'
import { type Question, sendQuestion } from './chat-requests.ts'
import { ActionsProvider, useChat } from './chat-state.ts'
import { Composer } from './composer.tsx'
import { createConversation, getConversationQueryKey } from './conversations.ts'
import { MessageList } from './message-list.tsx'
import { type Turn, turns } from './turn.ts'
import './chat.css'

/** Shows a conversation, or the page that starts one. */
export const ChatPage = ({ slug }: { slug?: string }) => (slug === undefined ? <NewChat /> : <Chat slug={slug} />)

/** The model of a fresh installation, which answers one sample question. */
const DEMO_MODEL = 'demo'

function NewChat() {
  const { conversationKey: key } = useSession()
  const navigate = useNavigate()
  const { data: models } = useModels()
  const { model, choose } = useChosenModel(models)
  const isBlocked = useIsSendingBlocked()
  const send = async (question: Question) => {
    if (!model) return
    const { slug } = await createConversation()
    moveOptions(slug)
    await sendQuestion({ slug, key, modelId: model.modelId, systemPrompt: '' }, question, [])
    await navigate({ to: '/chat/$slug', params: { slug }, replace: true })
  }
  return (
    <main id="main" className="chat">
      <ChatHead models={models} model={model} choose={choose}>
        <h1>{t('app.chat.new')}</h1>
      </ChatHead>
      <div className="empty">
        <p className="lead">{t('app.chat.empty')}</p>
        {model?.modelId === DEMO_MODEL && (
          <button
            type="button"
            className="quiet-button"
            onClick={() => send({ text: t('app.chat.demo'), attachments: [] })}
          >
            {t('app.chat.demo')}
          </button>
        )}
      </div>
      <Composer slug={undefined} canSend={model !== undefined && !isBlocked} obstacle={<SendObstacles />} send={send}>
        <ChatOptionsButton slug={undefined} systemPrompt="" />
      </Composer>
    </main>
  )
}

function Chat({ slug }: { slug: string }) {
  const { query, models, model, choose, turn, steps, actions, systemPrompt, targetNumber } = useChat(slug)
  const isBlocked = useIsSendingBlocked()
  return (
    <ActionsProvider value={actions}>
      <main id="main" className="chat">
        <ChatHead models={models} model={model} choose={choose}>
          <ConversationTitle slug={slug} />
        </ChatHead>
        {query.isFetchNextPageError && <ErrorMessage error={query.error} className="notice wrong" />}
        {query.isLoadingError ? (
          <ErrorMessage error={query.error} className="notice wrong" />
        ) : (
          <MessageList
            steps={steps}
            turn={turn}
            targetNumber={targetNumber}
            models={models ?? []}
            hasEarlier={query.hasNextPage}
            loadEarlier={() => void query.fetchNextPage()}
          />
        )}
        <AnswerAnnouncer turn={turn} />
        <Composer
          slug={slug}
          canSend={model !== undefined && query.data !== undefined && !isBlocked}
          isAnswering={turns.isAnswering(slug)}
          obstacle={<SendObstacles />}
          send={actions.send}
          stop={actions.stop}
        >
          <ChatOptionsButton slug={slug} systemPrompt={systemPrompt} />
        </Composer>
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
const SendObstacles = () => (
  <>
    <OfflineNotice />
    <AnnouncementNotice />
    <LimitNotice />
  </>
)

function ConversationTitle({ slug }: { slug: string }) {
  const { data } = useQuery({
    queryKey: getConversationQueryKey(slug),
    queryFn: ({ signal }) => api.conversations.get.query({ slug }, { signal }),
  })
  return <h1 dir="auto">{data?.name}</h1>
}

const ChatOptionsDialog = lazy(async () => ({ default: (await import('./chat-options-dialog.tsx')).ChatOptionsDialog }))

/** Opens the options of a conversation. */
function ChatOptionsButton(props: ChatOptionsProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IconButton icon="settings" label={t('app.options')} aria-haspopup="dialog" onClick={() => setOpen(true)} />
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
    if (turn && !before) setText(t('app.progress.begins'))
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
