import { useLocation } from '@tanstack/react-router'
import { createContext, useContext, useEffect, useMemo, useRef, useState } from 'react'
import type { Comparison, Side } from '../shared/conversation/answer.ts'
import { focusField } from '../shared/conversation/composer.tsx'
import type { StoredDraft } from '../shared/conversation/draft.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { findMaxInput, useAskable, withChosenBase } from '../shared/models/assistants.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { copyBeginning, copyFile } from '../shared/upload-file.ts'
import { buildPath, findDefaultEnd, type PathStep, ROOT_NUMBER, takeStepsUpTo } from './branches.ts'
import { useChatModel } from './chat-model.ts'
import { usePreparation } from './chat-options.ts'
import {
  type ChatContext,
  continueAnswer,
  type Question,
  readInstructions,
  requestAnswer,
  sendQuestion,
  sendQueued,
  storeQuestion,
} from './chat-requests.ts'
import type { ComparedModel } from './comparison.ts'
import { type OpenedMessage, readNumber } from './message-content.ts'
import { flattenPages, readPathTo, useMessages } from './messages.ts'
import type { Overflow } from './overflow.ts'
import { queuedQuestions, useQueueDraft, useQueuedQuestion, type WrittenQuestion } from './queued-questions.ts'
import { hasWholeHistory, splitPath } from './sent-history.ts'
import { readShownBranch, writeShownBranch } from './shown-branch.ts'
import { type ShownComparison, useShownComparison } from './shown-comparison.ts'
import { summaryRuns } from './summary-runs.ts'
import { estimateTokens, takeBeginning } from './token-estimate.ts'
import { type Turn, turns, useTurn } from './turn.ts'
import type { Compared } from './unanswered.ts'

/** Actions on a conversation. */
export interface ChatActions {
  send(question: Question, compared?: ComparedModel): Promise<void>
  /** Keeps a question until the running answer has ended, or sends it if that has just happened. */
  queue(question: WrittenQuestion): Promise<void>
  /** Sends the question that has waited. */
  sendQueued(): Promise<void>
  /** Asks a question again in other words and with these of its files, as another version beside the earlier one. */
  resend(question: OpenedMessage, text: string, files: OpenedMessage['attachments']): Promise<void>
  /** Requests another answer, from another model if one is named. Rejects if the question can't be read. */
  regenerate(answer: OpenedMessage, modelId?: string): Promise<void>
  /** Requests the rest of the last answer. Rejects if its question can't be read. */
  continueAnswer(): Promise<void>
  /** Opens the form that edits a question; undefined closes it. */
  edit(number: number | undefined): void
  editLast(): void
  chooseVersion(number: number): void
  stop(): void
  /** Stops one of two answers that stand side by side. */
  stopSide(side: Side): void
  /** Requests another answer in its place. */
  retrySide(parent: number, comparison: Comparison): void
  /** Requests both answers again. */
  compareAgain(parent: number, compared: Compared): void
  /** Goes on with one of two answers, and with its model. */
  chooseAnswer(answer: OpenedMessage): Promise<void>
  /** Requests an answer to a question that has none, perhaps from another model or a shorter one. */
  tryAgain(parent: number, change?: { modelId?: string; maxTokens?: number }): void
  /** Stores an answer that has come and could not be stored. */
  storeAgain(): void
  /** Puts a summary in place of older messages, and then requests the answer to a question that has none. */
  summarise(end: number, modelId?: string): Promise<void>
  /** Changes the words of a summary, or whether it is used. */
  changeSummary(summary: OpenedMessage, change: { text?: string; isUndone?: boolean }): Promise<void>
  /** Finds out what made a question too long for a model. */
  findOverflow(parent: number, modelId: string): Promise<Overflow | undefined>
  /** Asks a question again with the beginning of a file that was too long. */
  sendBeginning(overflow: Overflow): Promise<void>
}

/** The state of a conversation and the actions on it. */
export function useChat(slug: string) {
  const { conversationKey: key } = useSession()
  const query = useMessages(key, slug)
  const preparation = usePreparation(key, slug)
  const { data: models, error: modelsError } = useAskable(preparation.options.answerModel)
  const turn = useTurn(slug)
  const [editedNumber, setEditedNumber] = useState<number>()
  const messages = useMemo(() => flattenPages(query.data), [query.data])
  const isAnswering = turn !== undefined || turns.isAnswering(slug)
  const { steps, showBranch, targetNumber } = useShownBranch({ slug, query, messages, isAnswering })
  const { isKnown, missingAssistant, choose, recordUse, ...chosenModel } = useChatModel(
    slug,
    (query.data || query.error) && !preparation.isPending ? models : undefined,
    turn?.model ?? findLastModel(steps),
  )
  const model = withChosenBase(chosenModel.model, preparation.options.answerModel)
  const queueDraft = useQueueDraft(slug)
  const queued = useQueuedQuestion(slug, queueDraft)
  const actions = useActions({ slug, key, model, choose, recordUse, steps, showBranch, setEditedNumber, queueDraft })
  const comparison = useShownComparison(slug, messages, steps)
  const shown = { ...showTurn(steps, turn), ...(!turn && showComparison(steps, comparison)), editedNumber }
  const chosen = { models, modelsError, model, isModelKnown: isKnown, missingAssistant, choose }
  return { query, ...chosen, turn, comparison, steps, shown, actions, preparation, targetNumber, queued }
}

const findLastModel = (steps: readonly PathStep[]): string | undefined =>
  steps.findLast(({ message }) => message.model)?.message.model ?? undefined

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

/** Two answers side by side replace the messages after their question, unless another version of that is shown. */
function showComparison(steps: readonly PathStep[], comparison: ShownComparison | undefined) {
  const stepsBefore = comparison && takeStepsUpTo(steps, comparison.parent)
  return stepsBefore && { steps: stepsBefore, comparison }
}

/** The form of message numbers, as opposed to other fragments such as `main`. */
const MESSAGE_NUMBER = /^\d+\.\d{3}$/

interface BranchContext {
  slug: string
  query: ReturnType<typeof useMessages>
  messages: readonly OpenedMessage[]
  /** True while an answer streams, which is the newest message once it is stored. */
  isAnswering: boolean
}

/** Follows the branch that was shown last, and loads earlier messages until it is there. */
function useShownBranch({ slug, query, messages, isAnswering }: BranchContext) {
  const [branch, setBranch] = useState(() => readShownBranch(slug))
  const steps = useMemo(() => buildPath(messages, branch?.number), [messages, branch])
  const showBranch = (number: number, visit = branch?.visit) => {
    if (number !== branch?.number || visit !== branch.visit) setBranch({ number, visit })
  }
  const targetNumber = useLinkedMessage(branch?.visit, showBranch)
  const { hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query
  const isFound = !branch?.number || messages.some(({ number }) => number === branch.number)
  const canRead = hasNextPage && !isFetching && !isFetchNextPageError
  useEffect(() => {
    if (!isFound && canRead) void fetchNextPage()
  }, [isFound, canRead, fetchNextPage])
  const end = steps.at(-1)?.message.number
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new end of the path is kept.
  useEffect(() => {
    // Without this, what another tab writes into another branch would take the shown one away.
    if (end !== undefined && !isAnswering && (isFound || !hasNextPage)) showBranch(end)
  }, [end, isAnswering, isFound, hasNextPage])
  const defaultEnd = useMemo(() => findDefaultEnd(messages), [messages])
  const isDefault = end === defaultEnd
  useEffect(() => {
    // The newest messages are shown anyway, and would have to be searched for where others have followed them since.
    if (branch && isFound) writeShownBranch(slug, isDefault ? { visit: branch.visit } : branch)
  }, [slug, branch, isFound, isDefault])
  return { steps, showBranch, targetNumber }
}

/** Returns the message number in the fragment of the address, and shows its branch once for each visit. */
function useLinkedMessage(
  followed: string | undefined,
  showBranch: (number: number, visit: string) => void,
): number | undefined {
  const targetNumber = useLocation({ select: ({ hash }) => (MESSAGE_NUMBER.test(hash) ? readNumber(hash) : undefined) })
  const visit = useLocation({ select: ({ state }) => state.__TSR_key ?? '' })
  // biome-ignore lint/correctness/useExhaustiveDependencies: a visit is followed once, whatever is shown later.
  useEffect(() => {
    if (targetNumber !== undefined && visit !== followed) showBranch(targetNumber, visit)
  }, [targetNumber, visit])
  return targetNumber
}

interface ActionContext {
  slug: string
  key: ConversationKey
  model: ChatModel | undefined
  /** Chooses the model for the next question. */
  choose: (modelId: string) => void
  recordUse: (modelId: string) => void
  steps: readonly PathStep[]
  showBranch: (number: number) => void
  setEditedNumber: (number: number | undefined) => void
  queueDraft: StoredDraft
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
  const readPathBefore = (message: OpenedMessage) => readParentPath(state(), message)
  /** Shows the newest version of the message after this path. */
  const showNewestAfter = (path: readonly OpenedMessage[]) => state().showBranch(path.at(-1)?.number ?? ROOT_NUMBER)
  const resend: Resend = async (message, text, files, copy = copyFile) => {
    const path = await readPathBefore(message)
    const attachments = await copyFiles(files, copy)
    await sendQuestion(getContext(), { text, attachments }, path.at(-1)?.number ?? ROOT_NUMBER)
    showNewestAfter(path)
  }
  return {
    ...createSendActions(state, getContext),
    resend,
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
    edit(number) {
      state().setEditedNumber(number)
      if (number === undefined) focusField('chat')
    },
    editLast: () =>
      state().setEditedNumber(state().steps.findLast(({ message }) => message.role === 'user')?.message.number),
    chooseVersion: (number) => state().showBranch(number),
    stop: () => turns.stop(state().slug),
    ...createComparisonActions(state),
    tryAgain(parent, { modelId, maxTokens } = {}) {
      requestAnswer(getContext(modelId), parent, maxTokens)
      // The answer will be the newest message after its question.
      state().showBranch(parent)
    },
    storeAgain: () => turns.storeAgain(state().slug),
    ...createLengthActions(state, getContext, resend),
  }
}

/** Returns the path to the parent of a message. */
async function readParentPath({ slug, key }: ActionContext, { number }: OpenedMessage): Promise<OpenedMessage[]> {
  const isEnough = ({ length }: readonly OpenedMessage[]) => length >= 2
  return (await readPathTo(key, slug, { parent: number, isEnough })).slice(0, -1)
}

/** The actions on a chat that is longer than a model can read. */
function createLengthActions(
  state: () => ActionContext,
  getContext: (modelId?: string) => ChatContext,
  resend: Resend,
): Pick<ChatActions, 'summarise' | 'changeSummary' | 'findOverflow' | 'sendBeginning'> {
  const getShownEnd = () => state().steps.at(-1)?.message.number
  return {
    async summarise(end, modelId) {
      const chat = getContext(modelId)
      const shownBefore = getShownEnd()
      const stored = await summaryRuns.run(chat, end)
      if (!stored || turns.isAnswering(chat.slug)) return
      // Who has asked or chosen something else meanwhile stays with it.
      const shownEnd = getShownEnd()
      if (shownEnd !== shownBefore && shownEnd !== stored.number) return
      if (stored.isAnswerPending) requestAnswer(chat, stored.number)
      state().showBranch(stored.number)
    },
    async changeSummary(summary, change) {
      const { changeSummary } = await import('./summariser.ts')
      await changeSummary(state(), summary, change)
    },
    async findOverflow(parent, modelId) {
      const { slug, key } = state()
      const [{ findOverflow }, path, instructions] = await Promise.all([
        import('./overflow.ts'),
        readPathTo(key, slug, { parent, isEnough: hasWholeHistory }),
        readInstructions(key, slug),
      ])
      return findOverflow(splitPath(path), findMaxInput(modelId), estimateTokens(instructions))
    },
    async sendBeginning({ question, file: long, room }) {
      const message = state().steps.find((step) => step.message.number === question)?.message
      if (!message) return
      const copy = (file: File) =>
        file.id === long?.id ? copyBeginning(file, (text) => takeBeginning(text, room)) : copyFile(file)
      await resend(message, message.answer.text, message.attachments, copy)
    },
  }
}

/** Sends a question again; `copy` uploads each of its files once more. */
type Resend = (
  message: OpenedMessage,
  text: string,
  files: OpenedMessage['attachments'],
  copy?: (file: File) => Promise<string>,
) => Promise<void>

type File = OpenedMessage['attachments'][number]

/** The actions that send a question, at once or after the running answer. */
function createSendActions(
  state: () => ActionContext,
  getContext: () => ChatContext,
): Pick<ChatActions, 'send' | 'queue' | 'sendQueued'> {
  const getEnd = () => state().steps.at(-1)?.message.number ?? ROOT_NUMBER
  const send = async (question: Question, compared?: ComparedModel) => {
    const chat = getContext()
    summaryRuns.clear(chat.slug)
    state().recordUse(chat.modelId)
    if (!compared) return sendQuestion(chat, question, getEnd())
    const { requestComparison } = await import('./comparison.ts')
    const parent = await storeQuestion(chat, question, getEnd())
    requestComparison(chat, parent, { models: [chat.modelId, compared.modelId], isBlind: compared.isBlind })
    state().showBranch(parent)
  }
  return {
    send,
    async queue(question) {
      const { slug, modelId } = getContext()
      if (!turns.isAnswering(slug)) return send(question)
      const { text, files } = question
      await queuedQuestions.add(slug, state().queueDraft, { text, files, modelId })
      state().recordUse(modelId)
      focusField('chat')
    },
    sendQueued() {
      summaryRuns.clear(state().slug)
      return sendQueued(state(), getEnd())
    },
  }
}

/** The actions on two answers that stand side by side. */
function createComparisonActions(
  state: () => ActionContext,
): Pick<ChatActions, 'stopSide' | 'retrySide' | 'compareAgain' | 'chooseAnswer'> {
  return {
    stopSide: (side) => turns.stop(state().slug, side),
    retrySide: (parent, comparison) =>
      void import('./comparison.ts').then(({ requestSide }) => requestSide(state(), parent, comparison)),
    compareAgain: (parent, comparison) =>
      void import('./comparison.ts').then(({ requestComparison }) => requestComparison(state(), parent, comparison)),
    async chooseAnswer(answer) {
      const { comparison } = answer.answer
      if (!comparison) return
      const { chooseAnswer } = await import('./comparison.ts')
      await chooseAnswer(state(), answer, comparison)
      state().choose(comparison.models[comparison.side])
      state().showBranch(answer.number)
      focusField('chat')
    },
  }
}

/** Copies files one after the other, so that they keep their order. */
async function copyFiles(files: readonly File[], copy: (file: File) => Promise<string>): Promise<string[]> {
  const ids: string[] = []
  for (const file of files) ids.push(await copy(file))
  return ids
}

const ActionsContext = createContext<ChatActions | undefined>(undefined)

export const ActionsProvider = ActionsContext.Provider

export function useChatActions(): ChatActions {
  const actions = useContext(ActionsContext)
  if (!actions) throw new Error('There is no conversation here.')
  return actions
}
