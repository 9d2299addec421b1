import { lazy, type ReactNode, Suspense, useLayoutEffect, useMemo, useRef } from 'react'
import { Divider } from '../shared/conversation/divider.tsx'
import { MessageLog, MoreButton, useFollowEnd } from '../shared/conversation/message-log.tsx'
import { type EarlierMessages, useMessageWindow } from '../shared/conversation/message-window.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { UnansweredNotice } from './answer-failure.tsx'
import type { PathStep } from './branches.ts'
import { findHistoryStart, MAX_HISTORY } from './history.ts'
import { AnswerMessage, QuestionMessage } from './message.tsx'
import { writeNumber } from './message-content.ts'
import { findFirstWithFiles, type History, isSummary, splitPath } from './sent-history.ts'
import type { ShownComparison } from './shown-comparison.ts'
import { isHalted, type Turn } from './turn.ts'

const SummaryMessage = lazy(async () => ({ default: (await import('./summary-message.tsx')).SummaryMessage }))
const ComparisonView = lazy(async () => ({ default: (await import('./comparison-view.tsx')).ComparisonView }))

interface MessageListProps {
  slug: string
  steps: readonly PathStep[]
  turn: Turn | undefined
  /** The two answers that stand side by side at the end; absent if there are none. */
  comparison?: ShownComparison | undefined
  /** The number of the question that is edited; undefined if there is none. */
  editedNumber: number | undefined
  /** The number of the message to scroll to; undefined if there is none. */
  targetNumber: number | undefined
  models: readonly ChatModel[]
  /** The most input tokens of the model that will be asked; undefined if that is not known. */
  maxTokens: number | undefined
  earlier: EarlierMessages
}

/** The messages of a conversation, with the streaming answer at the end. */
export function MessageList(props: MessageListProps) {
  const { steps, turn, comparison, targetNumber, earlier } = props
  const question = comparison?.isRunning ? comparison.parent : turn && !isHalted(turn) ? turn.parent : undefined
  const ids = useMemo(() => steps.map(({ message }) => writeNumber(message.number)), [steps])
  const scroller = useRef<HTMLDivElement>(null)
  const list = useMessageWindow({ ids, earlier, scroller })
  const follow = useFollowEnd({ scroller, isNewest: list.isNewest, question })
  useTarget(targetNumber, ids, (id) => {
    follow.stopFollowing()
    list.show(id)
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: each question of the person leads to the newest messages.
  useLayoutEffect(() => {
    if (question !== undefined) list.showNewest()
  }, [question])
  const showNewest = () => {
    list.showNewest()
    follow.showEnd()
  }
  const showBeginning = () => {
    follow.stopFollowing()
    void list.showBeginning()
  }
  return (
    <MessageLog
      label={t('app.messages')}
      follow={follow}
      showNewest={showNewest}
      showBeginning={list.isLong ? showBeginning : undefined}
      isNewest={list.isNewest}
    >
      {list.hasEarlier && (
        <MoreButton
          label={t('app.messages.earlier')}
          show={list.showEarlier}
          position={ids[list.start] ?? ''}
          isPaused={earlier.isReading || Boolean(earlier.error)}
        />
      )}
      <ErrorNotice error={earlier.error} />
      {renderRows({ ...props, start: list.start, end: list.end })}
      {!list.isNewest && (
        <MoreButton label={t('app.messages.later')} show={list.showLater} position={ids[list.start] ?? ''} />
      )}
    </MessageLog>
  )
}

/** Keys answers by their parent, which is known before they are stored. A failed answer may be stored in part. */
const renderRows = ({
  slug,
  steps,
  turn,
  comparison,
  editedNumber,
  targetNumber,
  models,
  maxTokens,
  start,
  end,
}: MessageListProps & { start: number; end: number }) => {
  const failure = turn && isHalted(turn) ? turn.error : undefined
  const path = steps.map(({ message }) => message)
  const history = splitPath(path)
  const toDivider = createDivider(history)
  const firstWithFiles = findFirstWithFiles(history, maxTokens, path.at(-1)?.role !== 'user')
  const toPending = (number: number) =>
    comparison?.parent === number ? (
      <Suspense key={`compared after ${number}`}>
        <ComparisonView shown={comparison} models={models} />
      </Suspense>
    ) : turn?.parent === number ? (
      <AnswerMessage key={`after ${number}`} slug={slug} turn={turn} failure={failure} models={models} />
    ) : (
      <UnansweredNotice key={`without ${number}`} slug={slug} number={number} />
    )
  return steps.slice(start, end).flatMap((step, offset) => {
    const index = start + offset
    const { message, parentNumber } = step
    const shared = { slug, step, models, isTarget: message.number === targetNumber }
    const divider = toDivider(message.number)
    if (isSummary(message)) {
      return [
        divider,
        <Suspense key={message.number}>
          <SummaryMessage {...shared} steps={steps} used={history.summary?.number} />
        </Suspense>,
        isAnswerPending(path, index) && toPending(message.number),
      ]
    }
    if (message.role !== 'user') {
      const isLast = !turn && index === steps.length - 1
      const error = parentNumber === turn?.parent ? failure : undefined
      return [divider, <AnswerMessage key={`after ${parentNumber}`} {...shared} failure={error} isLast={isLast} />]
    }
    const isAnswered = steps[index + 1]?.message.role === 'assistant'
    const isJoined = steps[index - 1]?.message.role === 'user'
    return [
      divider,
      <SourceBoundary key={message.number} source={message.answer.text}>
        <QuestionMessage
          {...shared}
          isJoined={isJoined}
          isEditing={message.number === editedNumber}
          areFilesNamed={message.number < firstWithFiles}
        />
      </SourceBoundary>,
      !isAnswered && toPending(message.number),
    ]
  })
}

/** Returns true if a summary follows a question whose answer should follow the summary, but does not. */
const isAnswerPending = (path: readonly PathStep['message'][], index: number): boolean =>
  path.slice(0, index).findLast((message) => !isSummary(message))?.role === 'user' &&
  path[index + 1]?.role !== 'assistant'

/** Returns a function that says above a message that the model gets the messages themselves from there on. */
function createDivider({ summary, messages }: History): (number: number) => ReactNode {
  const cut = findHistoryStart(messages)
  const start = cut ?? (summary && messages[0]?.number)
  const text = cut === undefined ? t('app.summary.ends') : t('app.message.historyBegins', { count: MAX_HISTORY })
  return (number) => number === start && <Divider key="history" text={text} />
}

/** Shows a message once it is loaded. */
function useTarget(targetNumber: number | undefined, ids: readonly string[], show: (id: string) => void): void {
  const shown = useRef<string>(undefined)
  useLayoutEffect(() => {
    const id = targetNumber === undefined ? undefined : writeNumber(targetNumber)
    if (id === undefined || id === shown.current || !ids.includes(id)) return
    shown.current = id
    show(id)
  }, [targetNumber, ids, show])
}
