import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { createContext, useContext, useEffect, useMemo, useRef, useState } from 'react'
import { api } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { type ChatModel, useChosenModel, useModels } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { buildPath, type Choices, findChoicesFor, type PathStep, takeStepsUpTo } from './branches.ts'
import { type ChatContext, continueAnswer, type Question, requestAnswer, sendQuestion } from './chat-requests.ts'
import { getConversationQueryKey } from './conversations.ts'
import type { OpenedMessage } from './message-content.ts'
import { flattenPages, useMessages } from './messages.ts'
import { turns, useTurn } from './turn.ts'

/** Actions on a conversation. */
export interface ChatActions {
  send(question: Question): Promise<void>
  /** Asks a question again in other words, as another version beside the earlier one. */
  resend(number: string, text: string): Promise<void>
  /** Requests another answer, from another model if one is named. */
  regenerate(number: string, modelId?: string): void
  continueAnswer(): void
  chooseVersion(number: string, parent: string): void
  stop(): void
  /** Requests the answer again after a failure. */
  tryAgain(): void
}

/** The state of a conversation and the actions on it. */
export function useChat(slug: string) {
  const { conversationKey: key } = useSession()
  const { data: models } = useModels()
  const { model, choose } = useChosenModel(models)
  const query = useMessages(key, slug)
  const systemPrompt = useSystemPrompt(key, slug)
  const turn = useTurn(slug)
  const [choices, setChoices] = useState<Choices>({})
  const messages = useMemo(() => flattenPages(query.data), [query.data])
  const steps = useMemo(() => buildPath(messages, choices), [messages, choices])
  // A streaming answer replaces the messages after its question.
  const targetNumber = useLinkedMessage(query, messages, setChoices)
  const shownSteps = turn && turn.phase !== 'failed' ? takeStepsUpTo(steps, turn.parent) : steps
  const actions = useActions({ slug, key, model, systemPrompt, steps, setChoices })
  return { query, models, model, choose, turn, steps: shownSteps, actions, systemPrompt, targetNumber }
}

/** Returns the message number in the fragment of the address, and loads earlier messages until that one is there. */
function useLinkedMessage(
  { hasNextPage, isFetching, fetchNextPage }: ReturnType<typeof useMessages>,
  messages: readonly OpenedMessage[],
  setChoices: (choices: Choices) => void,
): string {
  const targetNumber = useLocation({ select: ({ hash }) => hash })
  const isLoaded = messages.some(({ number }) => number === targetNumber)
  useEffect(() => {
    if (targetNumber !== '' && !isLoaded && hasNextPage && !isFetching) void fetchNextPage()
  }, [targetNumber, isLoaded, hasNextPage, isFetching, fetchNextPage])
  // biome-ignore lint/correctness/useExhaustiveDependencies: messages that load later must not undo later choices.
  useEffect(() => {
    if (isLoaded) setChoices(findChoicesFor(messages, targetNumber))
  }, [targetNumber, isLoaded])
  return targetNumber
}

/** Reads and decrypts the system prompt of a conversation. */
function useSystemPrompt(key: ConversationKey, slug: string): string {
  const { data } = useQuery({
    queryKey: getConversationQueryKey(slug),
    queryFn: ({ signal }) => api.conversations.get.query({ slug }, { signal }),
  })
  const sealed = data?.systemPrompt
  const prompt = useQuery({
    queryKey: ['system-prompt', sealed],
    queryFn: () => (sealed ? key.open(sealed).catch(() => '') : ''),
    staleTime: Number.POSITIVE_INFINITY,
  })
  return prompt.data ?? ''
}

interface ActionContext {
  slug: string
  key: ConversationKey
  model: ChatModel | undefined
  systemPrompt: string
  steps: readonly PathStep[]
  setChoices: (change: (choices: Choices) => Choices) => void
}

/** Returns the same object while the conversation is shown, so that messages are not rendered again. */
function useActions(state: ActionContext): ChatActions {
  const latest = useRef(state)
  latest.current = state
  return useMemo(() => createActions(() => latest.current), [])
}

function createActions(state: () => ActionContext): ChatActions {
  const getContext = (modelId = state().model?.modelId): ChatContext => {
    const { slug, key, systemPrompt } = state()
    return { slug, key, systemPrompt, modelId: modelId ?? '' }
  }
  const getStepsBefore = (number: string) => {
    const { steps } = state()
    return steps.slice(
      0,
      steps.findIndex(({ message }) => message.number === number),
    )
  }
  /** Without a choice the newest version is shown, which the new message is. */
  const showNewest = () => state().setChoices(() => ({}))
  return {
    send: (question) => sendQuestion(getContext(), question, state().steps),
    async resend(number, text) {
      await sendQuestion(getContext(), { text, attachments: [] }, getStepsBefore(number))
      showNewest()
    },
    regenerate(number, modelId) {
      requestAnswer(getContext(modelId), getStepsBefore(number))
      showNewest()
    },
    continueAnswer: () => continueAnswer(getContext(), state().steps, t('app.message.continueInstruction')),
    chooseVersion: (number, parent) => state().setChoices((choices) => ({ ...choices, [parent]: number })),
    stop: () => turns.stop(state().slug),
    tryAgain() {
      turns.forget(state().slug)
      const { steps } = state()
      const isAnswered = steps.at(-1)?.message.role === 'assistant'
      requestAnswer(getContext(), isAnswered ? steps.slice(0, -1) : steps)
    },
  }
}

const ActionsContext = createContext<ChatActions | undefined>(undefined)

export const ActionsProvider = ActionsContext.Provider

export function useChatActions(): ChatActions {
  const actions = useContext(ActionsContext)
  if (!actions) throw new Error('There is no conversation here.')
  return actions
}
