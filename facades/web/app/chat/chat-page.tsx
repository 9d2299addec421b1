import { useLocation, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { isNotFound } from '../shared/api/error-text.ts'
import { TEMPORARY } from '../shared/conversation/draft.ts'
import { buildAssistantId, useAskable, withChosenBase } from '../shared/models/assistants.ts'
import { ModelButton } from '../shared/models/model-button.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { Page, PageError } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { ChatComposer, ChatOptionsButton, SendObstacles, useIsSendingBlocked } from './chat-composer.tsx'
import { keepAssistant, useFirstModel } from './chat-model.ts'
import { useFirstOptions } from './chat-options.ts'
import { type Question, requestAnswer, storeQuestion } from './chat-requests.ts'
import { ActionsProvider, useChat } from './chat-state.ts'
import { useCompareChoice } from './compare-choice.tsx'
import type { ComparedModel } from './comparison.ts'
import { QuestionComposer } from './composer.tsx'
import { createConversation, createTemporaryChat, useConversation } from './conversations.ts'
import { MessageList } from './message-list.tsx'
import { readAllEarlier, type useMessages } from './messages.ts'
import { MissingChat } from './missing-chat.tsx'
import { useReadingEnd } from './read-aloud.ts'
import { ShareButton } from './share/share-button.tsx'
import { isTemporary, useIsGone } from './temporary-chats.ts'
import { TemporaryHint } from './temporary-notice.tsx'
import { isStreaming, type Turn } from './turn.ts'
import { Welcome } from './welcome.tsx'

/** Shows a conversation, or the page that starts one. */
export const ChatPage = ({ slug }: { slug?: string }) => (slug === undefined ? <NewChat /> : <OpenedChat slug={slug} />)

function NewChat() {
  const [isTemporary, setTemporary] = useState(false)
  const options = useFirstOptions(isTemporary)
  const { data: models, error } = useAskable(options.options.answerModel)
  const draftName = isTemporary ? TEMPORARY : undefined
  const { isKnown, missingAssistant, choose, recordUse, ...chosen } = useFirstModel(draftName, models)
  useLinkedAssistant(choose)
  const model = withChosenBase(chosen.model, options.options.answerModel)
  const canSend = !useIsSendingBlocked() && model !== undefined
  const { compared, button, bar } = useCompareChoice(models, model)
  const send = useFirstQuestion({ model, compared, recordUse, first: options, isTemporary })
  usePageTitle(t('app.chat.new'))
  return (
    <Page>
      <ChatHead models={isKnown ? models : undefined} model={model} choose={choose}>
        <h1>{t(isTemporary ? 'app.temporary' : 'app.chat.new')}</h1>
        <IconButton
          icon="temporary"
          label={t('app.temporary')}
          aria-pressed={isTemporary}
          onClick={() => setTemporary(!isTemporary)}
        />
      </ChatHead>
      <Welcome model={model} isTemporary={isTemporary} />
      <QuestionComposer
        slug={draftName}
        canSend={canSend}
        isLoading={!(isKnown || error)}
        models={{ models, model, choose }}
        obstacle={
          <>
            {isTemporary && <TemporaryHint />}
            <SendObstacles
              error={models ? undefined : error}
              missingAssistant={missingAssistant}
              models={models}
              model={model}
              choose={choose}
              chooseBase={options.chooseBase}
            />
            {bar}
          </>
        }
        send={send}
      >
        {button}
        <ChatOptionsButton
          instructions={options.instructions}
          options={options.options}
          model={model}
          save={async (instructions, next) => options.write({ instructions, options: next })}
        />
      </QuestionComposer>
    </Page>
  )
}

interface FirstQuestion {
  model: ChatModel | undefined
  compared: ComparedModel | undefined
  recordUse: ReturnType<typeof useFirstModel>['recordUse']
  first: ReturnType<typeof useFirstOptions>
  isTemporary: boolean
}

/** Chooses the assistant in the address, which links to a new chat with it. */
function useLinkedAssistant(choose: (modelId: string) => void): void {
  const navigate = useNavigate()
  const linked = useLocation({ select: ({ search }) => search.assistant })
  // biome-ignore lint/correctness/useExhaustiveDependencies: an address is followed once.
  useEffect(() => {
    if (linked === undefined) return
    const [handle = '', version] = `${linked}`.split('@')
    choose(buildAssistantId(handle, version === undefined ? undefined : Number(version)))
    void navigate({ to: '/chat', replace: true })
  }, [linked])
}

/** Returns a function that creates a conversation with its first question. */
function useFirstQuestion({ model, compared, recordUse, first, isTemporary }: FirstQuestion) {
  const { connection, conversationKey: key } = useSession()
  const navigate = useNavigate()
  // A question that could not be sent is tried again in the same conversation.
  const created = useRef<string>(undefined)
  return async (question: Question) => {
    if (!model) return
    if (!isTemporary) created.current ??= (await createConversation(key, question.text, first)).slug
    const slug = isTemporary ? await createTemporaryChat(key, first) : (created.current ?? '')
    const chat = { slug, key, modelId: model.modelId }
    const number = await storeQuestion(chat, question, 0).catch((error: unknown) => {
      // The person has deleted the conversation meanwhile.
      if (isNotFound(error)) created.current = undefined
      throw error
    })
    first.clear()
    recordUse(model.modelId, { keepsAssistant: false })
    await keepAssistant(key, String(connection.userinfo?.id), slug, model.modelId)
    if (compared) {
      const { requestComparison } = await import('./comparison.ts')
      requestComparison(chat, number, { models: [model.modelId, compared.modelId], isBlind: compared.isBlind })
    } else requestAnswer(chat, number)
    await navigate({ to: '/chat/$slug', params: { slug }, replace: true })
  }
}

/** Reads nothing of a temporary chat that is gone, which the service has never known. */
const OpenedChat = ({ slug }: { slug: string }) =>
  useIsGone(slug) ? <MissingChat isTemporary /> : <Chat slug={slug} />

function Chat({ slug }: { slug: string }) {
  useReadingEnd()
  const chat = useChat(slug)
  const { query, models, model, isModelKnown, choose, turn, shown, actions, targetNumber } = chat
  if (useIsMissing(query)) return <MissingChat />
  return (
    <ActionsProvider value={actions}>
      <Page>
        <ChatHead models={isModelKnown ? models : undefined} model={model} choose={choose}>
          <ConversationTitle slug={slug} />
          {!isTemporary(slug) && <ShareButton slug={slug} />}
        </ChatHead>
        {query.isLoadingError ? (
          <PageError error={query.error} />
        ) : (
          <MessageList
            {...shown}
            slug={slug}
            targetNumber={targetNumber}
            models={models ?? []}
            maxTokens={model?.limits?.maxInputTokens ?? undefined}
            earlier={getEarlier(query)}
          />
        )}
        <AnswerAnnouncer turn={turn} />
        <ChatComposer slug={slug} chat={chat} />
      </Page>
    </ActionsProvider>
  )
}

/** Returns true for a chat that was not found, also while it is read again, which clears the error for a moment. */
function useIsMissing({ data, error }: Pick<ReturnType<typeof useMessages>, 'data' | 'error'>): boolean {
  const isMissing = useRef(false)
  if (data) isMissing.current = false
  else if (error) isMissing.current = isNotFound(error)
  return isMissing.current
}

const getEarlier = (query: ReturnType<typeof useMessages>) => ({
  hasMore: query.hasNextPage,
  isReading: query.isFetching,
  error: query.isFetchNextPageError ? query.error : undefined,
  read: query.fetchNextPage,
  readAll: () => readAllEarlier(query),
})

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

function ConversationTitle({ slug }: { slug: string }) {
  const { data } = useConversation(slug)
  usePageTitle(data?.name ?? t('app.chats'))
  return <h1 dir="auto">{data?.name}</h1>
}

/** Tells screen readers when an answer starts and how it ends, but not its text in between. */
function AnswerAnnouncer({ turn }: { turn: Turn | undefined }) {
  const [text, setText] = useState('')
  const last = useRef<Turn>(undefined)
  useEffect(() => {
    const before = last.current
    last.current = turn
    const [isRunning, wasRunning] = [turn, before].map(isStreaming)
    if (isRunning && !wasRunning) setText(t('app.progress.begins'))
    if (turn && !isRunning && wasRunning) setText(t('app.progress.failed'))
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
