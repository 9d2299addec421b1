import { useLocation } from '@tanstack/react-router'
import { createContext, useContext, useEffect, useMemo, useRef, useState } from 'react'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { type ChatModel, useChosenModel, useModels } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import {
  buildPath,
  type Choices,
  findChoicesFor,
  type PathStep,
  ROOT_NUMBER,
  takeStepsUpTo,
  toChoices,
} from './branches.ts'
import { type ChatContext, continueAnswer, type Question, requestAnswer, sendQuestion } from './chat-requests.ts'
import { type OpenedMessage, readNumber } from './message-content.ts'
import { flattenPages, readPathTo, useMessages } from './messages.ts'
import { useSystemPrompt } from './system-prompt.ts'
import { type Turn, turns, useTurn } from './turn.ts'

/** Actions on a conversation. */
export interface ChatActions {
  send(question: Question): Promise<void>
  /** Asks a question again in other words, as another version beside the earlier one. */
  resend(question: OpenedMessage, text: string): Promise<void>
  /** Requests another answer, from another model if one is named. Rejects if the question can't be read. */
  regenerate(answer: OpenedMessage, modelId?: string): Promise<void>
  /** Requests the rest of the last answer. Rejects if its question can't be read. */
  continueAnswer(): Promise<void>
  chooseVersion(number: number, parent: number): void
  stop(): void
  /** Requests the answer again after a failure. */
  tryAgain(): void
}

/** The state of a conversation and the actions on it. */
export function useChat(slug: string) {
  const { conversationKey: key } = useSession()
  const { data: models, error: modelsError } = useModels()
  const { model, choose } = useChosenModel(models)
  const query = useMessages(key, slug)
  const systemPrompt = useSystemPrompt(key, slug)
  const turn = useTurn(slug)
  const [choices, setChoices] = useState<Choices>({})
  const messages = useMemo(() => flattenPages(query.data), [query.data])
  const steps = useMemo(() => buildPath(messages, choices), [messages, choices])
  const targetNumber = useLinkedMessage(query, messages, setChoices)
  const actions = useActions({ slug, key, model, steps, setChoices })
  const shown = showTurn(steps, turn)
  return { query, models, modelsError, model, choose, turn, shown, actions, systemPrompt, targetNumber }
}

interface ShownPath {
  steps: readonly PathStep[]
  turn: Turn | undefined
}

/** A streaming answer replaces the messages after its question, and is hidden while another version of that is shown. */
function showTurn(steps: readonly PathStep[], turn: Turn | undefined): ShownPath {
  const stepsBefore = turn && takeStepsUpTo(steps, turn.parent)
  if (!stepsBefore) return { steps, turn: undefined }
  return { steps: turn.phase === 'failed' ? steps : stepsBefore, turn }
}

/** The form of message numbers, as opposed to other fragments such as `main`. */
const MESSAGE_NUMBER = /^\d+\.\d{3}$/

/** Returns the message number in the fragment of the address, and loads earlier messages until that one is there. */
function useLinkedMessage(
  { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage }: ReturnType<typeof useMessages>,
  messages: readonly OpenedMessage[],
  setChoices: (choices: Choices) => void,
): number | undefined {
  const targetNumber = useLocation({ select: ({ hash }) => (MESSAGE_NUMBER.test(hash) ? readNumber(hash) : undefined) })
  const isLoaded = messages.some(({ number }) => number === targetNumber)
  const canRead = hasNextPage && !isFetching && !isFetchNextPageError
  useEffect(() => {
    if (targetNumber !== undefined && !isLoaded && canRead) void fetchNextPage()
  }, [targetNumber, isLoaded, canRead, fetchNextPage])
  // biome-ignore lint/correctness/useExhaustiveDependencies: messages that load later must not undo later choices.
  useEffect(() => {
    if (isLoaded && targetNumber !== undefined) setChoices(findChoicesFor(messages, targetNumber))
  }, [targetNumber, isLoaded])
  return targetNumber
}

interface ActionContext {
  slug: string
  key: ConversationKey
  model: ChatModel | undefined
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
    const { slug, key } = state()
    return { slug, key, modelId: modelId ?? '' }
  }
  const getLast = () => state().steps.at(-1)?.message
  /** Returns the path to the parent of a message. */
  const readPathBefore = async (message: OpenedMessage) => {
    const { slug, key } = state()
    return (await readPathTo(key, slug, { parent: message.number, minLength: 2 })).slice(0, -1)
  }
  /** Without a choice the newest version is shown, which the message after this path is. */
  const showNewestAfter = (path: readonly OpenedMessage[]) => state().setChoices(() => toChoices(path))
  return {
    send: (question) => sendQuestion(getContext(), question, getLast()?.number ?? ROOT_NUMBER),
    async resend(message, text) {
      const path = await readPathBefore(message)
      await sendQuestion(getContext(), { text, attachments: [] }, path.at(-1)?.number ?? ROOT_NUMBER)
      showNewestAfter(path)
    },
    async regenerate(message, modelId) {
      const path = await readPathBefore(message)
      requestAnswer(getContext(modelId), path.at(-1)?.number ?? ROOT_NUMBER)
      showNewestAfter(path)
    },
    async continueAnswer() {
      const partialAnswer = getLast()
      if (!partialAnswer) return
      const path = await readPathBefore(partialAnswer)
      continueAnswer(getContext(), path.at(-1)?.number ?? ROOT_NUMBER, partialAnswer)
    },
    chooseVersion: (number, parent) => state().setChoices((choices) => ({ ...choices, [parent]: number })),
    stop: () => turns.stop(state().slug),
    tryAgain() {
      const { slug } = state()
      const failed = turns.find(slug)
      if (failed) requestAnswer(getContext(), failed.parent)
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
