import { type ComponentProps, lazy, type ReactNode, Suspense, useState } from 'react'
import { isNotFound } from '../shared/api/error-text.ts'
import { focusField } from '../shared/conversation/composer.tsx'
import type { AnswerModel } from '../shared/models/assistants.ts'
import { ModelEndNotice } from '../shared/models/model-end-notice.tsx'
import { findModelLabel } from '../shared/models/models.ts'
import { AnnouncementNotice } from '../shared/notices/announcement-notice.tsx'
import { usePendingAnnouncements } from '../shared/notices/announcements.ts'
import { LateToolQuestions } from '../shared/notices/late-tool-questions.tsx'
import { LimitNotice } from '../shared/notices/limit-notice.tsx'
import { useIsOnline } from '../shared/online.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { ArchiveNotice } from './archive-notice.tsx'
import type { ChatOptionsProps } from './chat-options-dialog.tsx'
import type { useChat } from './chat-state.ts'
import { useCompareChoice } from './compare-choice.tsx'
import { QuestionComposer } from './composer.tsx'
import { saveOptions, useConversation } from './conversations.ts'
import { DeletedNotice } from './missing-chat.tsx'
import { QueuedNotice } from './queued-notice.tsx'
import { type QueuedContent, queuedQuestions } from './queued-questions.ts'
import { useSummaryRun } from './summary-runs.ts'
import { isTemporary, useIsKeeping } from './temporary-chats.ts'
import { TemporaryNotice } from './temporary-notice.tsx'
import { turns } from './turn.ts'

/** Returns true while what a question needs is being read. */
const isLoading = ({ isModelKnown, modelsError, query, preparation }: ReturnType<typeof useChat>): boolean =>
  preparation.isPending || !(isModelKnown || modelsError) || !(query.data ?? query.error)

/** Sends a question to one model, or to two if a second one is chosen. */
function useComparedSend({ models, model, actions }: ReturnType<typeof useChat>) {
  const { compared, clear, button, bar } = useCompareChoice(models, model)
  const send: typeof actions.send = async (question) => {
    await actions.send(question, compared)
    clear()
  }
  return { send, isComparing: compared !== undefined, button, bar }
}

/** The form for the next question of a chat. */
export function ChatComposer({ slug, chat }: { slug: string; chat: ReturnType<typeof useChat> }) {
  const { query, models, model, choose, actions, preparation, queued } = chat
  const { conversationKey: key } = useSession()
  const isBlocked = useIsSendingBlocked()
  const isKeeping = useIsKeeping(slug)
  const isSummarising = useSummaryRun(slug)?.phase === 'running'
  const isDeleted = isNotFound(useConversation(slug).error)
  const isReady = query.data !== undefined && preparation.isLoaded && model !== undefined
  const isAnswering = turns.isAnswering(slug)
  const isChoosing = chat.shown.comparison?.isOpen ?? false
  const canSend = isReady && !isBlocked && !isDeleted && !isKeeping && !isSummarising && !isChoosing
  const { send, isComparing, button, bar } = useComparedSend(chat)
  // One question can wait, and only for one model.
  const canQueue = !(queued || isComparing)
  return (
    <QuestionComposer
      slug={slug}
      canSend={canSend && (canQueue || !isAnswering)}
      isLoading={isLoading(chat)}
      isAnswering={isAnswering}
      models={{ models, model, choose }}
      obstacle={
        isDeleted ? <DeletedNotice /> : <ChatObstacles slug={slug} chat={chat} isAnswering={isAnswering} bar={bar} />
      }
      send={isAnswering ? actions.queue : send}
      showQueued={(restore) => (
        <Queued
          chat={chat}
          slug={slug}
          restore={restore}
          send={canSend && !isAnswering ? actions.sendQueued : undefined}
        />
      )}
      stop={actions.stop}
      editLast={actions.editLast}
    >
      {button}
      <ChatOptionsButton
        instructions={preparation.instructions}
        options={preparation.options}
        model={model}
        save={(instructions, next) => saveOptions(key, slug, { instructions, options: next })}
        disabled={!preparation.canChange}
      />
    </QuestionComposer>
  )
}

const ContextGauge = lazy(async () => ({ default: (await import('./context-gauge.tsx')).ContextGauge }))

interface ChatObstaclesProps {
  slug: string
  chat: ReturnType<typeof useChat>
  isAnswering: boolean
  /** The choice of a second model. */
  bar: ReactNode
}

function ChatObstacles({ slug, chat, isAnswering, bar }: ChatObstaclesProps) {
  const { query, models, modelsError, model, missingAssistant, choose, preparation } = chat
  const preparationError = query.isLoadingError ? undefined : preparation.error
  const summaryRun = useSummaryRun(slug)
  const { conversationKey: key } = useSession()
  const { instructions, options } = preparation
  const chooseBase = (answerModel: AnswerModel) =>
    void saveOptions(key, slug, { instructions: instructions ?? '', options: { ...options, answerModel } })
  const canShowGauge = summaryRun !== undefined || Boolean(model?.limits?.maxInputTokens)
  return (
    <>
      {isTemporary(slug) && <TemporaryNotice slug={slug} isAnswering={isAnswering} />}
      <ArchiveNotice slug={slug} />
      {canShowGauge && (
        <Suspense>
          <ContextGauge slug={slug} chat={chat} />
        </Suspense>
      )}
      <SendObstacles
        error={models ? preparationError : modelsError}
        missingAssistant={missingAssistant}
        models={models}
        model={model}
        choose={choose}
        chooseBase={chooseBase}
      />
      {bar}
    </>
  )
}

interface QueuedProps {
  slug: string
  chat: ReturnType<typeof useChat>
  /** Undefined while another answer runs. */
  send: (() => Promise<void>) | undefined
  /** Puts the question back into the form. */
  restore: (question: QueuedContent) => Promise<void>
}

/** The question that waits. Its buttons go with it, so the focus moves to the field. */
function Queued({ slug, chat: { queued, models }, send, restore }: QueuedProps) {
  if (!queued) return null
  const act = (action: () => Promise<void>) => () => {
    void action()
    focusField('chat')
  }
  return (
    <QueuedNotice
      question={queued}
      model={findModelLabel(queued.modelId, models ?? [])}
      send={send && act(send)}
      takeBack={act(() => queuedQuestions.take(slug, restore))}
    />
  )
}

/** Returns true if nothing can be sent for now. */
export function useIsSendingBlocked(): boolean {
  const mustAccept = usePendingAnnouncements().some(({ isForced }) => isForced)
  return !useIsOnline() || mustAccept
}

const OfflineNotice = () => !useIsOnline() && <Notice kind="warning">{t('app.offline')}</Notice>

const MissingAssistantNotice = lazy(async () => ({
  default: (await import('./missing-assistant.tsx')).MissingAssistantNotice,
}))

interface SendObstaclesProps extends ComponentProps<typeof ModelEndNotice> {
  error: unknown
  /** The name of the chosen assistant, if it cannot be asked. */
  missingAssistant: string | undefined
  chooseBase: (model: AnswerModel) => void
}

/** The notices that explain why nothing can be sent, or will not be soon. */
export const SendObstacles = ({ error, missingAssistant, chooseBase, ...chosen }: SendObstaclesProps) => (
  <>
    <ErrorNotice error={error} />
    {missingAssistant !== undefined && (
      <Suspense>
        <MissingAssistantNotice {...chosen} chooseBase={chooseBase} modelId={missingAssistant} />
      </Suspense>
    )}
    <ModelEndNotice {...chosen} />
    <OfflineNotice />
    <AnnouncementNotice />
    <LateToolQuestions />
    <LimitNotice />
  </>
)

const ChatOptionsDialog = lazy(async () => ({ default: (await import('./chat-options-dialog.tsx')).ChatOptionsDialog }))

/** Opens the options of a chat. */
export function ChatOptionsButton({ disabled = false, ...props }: ChatOptionsProps & { disabled?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IconButton
        icon="options"
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
