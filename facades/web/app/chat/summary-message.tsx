import { Link } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { joinTexts } from '../shared/conversation/answer-segments.ts'
import { focusField } from '../shared/conversation/composer.tsx'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { type ChatModel, findModelLabel } from '../shared/models/models.ts'
import { stripMarkdown } from '../shared/text/excerpt.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { EditForm } from '../shared/ui/edit-form.tsx'
import { InlineError } from '../shared/ui/error-message.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import type { PathStep } from './branches.ts'
import { useChatActions } from './chat-state.ts'
import { type OpenedMessage, writeNumber } from './message-content.ts'
import { findSummary, isSummary } from './sent-history.ts'
import { Versions } from './step-actions.tsx'
import styles from './summary-message.module.css'

interface SummaryMessageProps {
  slug: string
  step: PathStep
  /** The shown path, as far as it is loaded. */
  steps: readonly PathStep[]
  models: readonly ChatModel[]
  /** The number of the summary that is sent with the next question, if there is one. */
  used: number | undefined
  isTarget: boolean
}

/** A summary that stands for earlier messages: it can be read, changed, and undone. */
export function SummaryMessage({ slug, step, steps, models, used, isTarget }: SummaryMessageProps) {
  const { message } = step
  const { number, model, answer } = message
  const { changeSummary } = useChatActions()
  const [isEditing, setEditing] = useState(false)
  const [isListOpen, setListOpen] = useState(false)
  const headingId = useId()
  if (!answer.summary) return null
  const { replaced, firstSent } = answer.summary
  const closeForm = () => {
    setEditing(false)
    focusField('chat')
  }
  return (
    <article
      id={writeNumber(number)}
      className={styles.summary}
      aria-labelledby={headingId}
      aria-current={isTarget || undefined}
    >
      <h2 id={headingId}>{t('app.summary.title', { count: replaced })}</h2>
      <p className="hint">
        {t('app.summary.by', { model: findModelLabel(model ?? '', models) })} {t(describeUse(message, used))}
      </p>
      {isEditing ? (
        <EditForm
          label={t('app.summary.edit')}
          text={answer.text}
          action={t('app.save')}
          save={(text) => changeSummary(message, { text })}
          close={closeForm}
        />
      ) : (
        <SourceBoundary source={answer.text}>
          <Markdown text={answer.text} />
        </SourceBoundary>
      )}
      <SummaryActions
        step={step}
        canUndo={number === used}
        isOnly={isOnlySummary(steps, number)}
        edit={isEditing ? undefined : () => setEditing(true)}
        isListOpen={isListOpen}
        toggleList={() => setListOpen(!isListOpen)}
      />
      {isListOpen && (
        <ReplacedMessages slug={slug} messages={listReplaced(steps, firstSent)} count={replaced} models={models} />
      )}
    </article>
  )
}

function describeUse({ number, answer }: OpenedMessage, used: number | undefined): string {
  if (answer.summary?.isUndone) return used === undefined ? 'app.summary.undone' : 'app.summary.undoneForOther'
  return number === used ? 'app.summary.used' : 'app.summary.superseded'
}

/** Returns true if no summary before this one would be sent in place of it. */
const isOnlySummary = (steps: readonly PathStep[], number: number): boolean =>
  findSummary(steps.map(({ message }) => message).filter((message) => message.number < number)) === undefined

interface SummaryActionsProps {
  step: PathStep
  canUndo: boolean
  isOnly: boolean
  edit: (() => void) | undefined
  /** True while the messages that it replaces are listed. */
  isListOpen: boolean
  toggleList: () => void
}

function SummaryActions({ step, canUndo, isOnly, edit, isListOpen, toggleList }: SummaryActionsProps) {
  const { changeSummary } = useChatActions()
  const [state, setState] = useState<'ready' | 'saving' | { error: unknown }>('ready')
  const isUndone = step.message.answer.summary?.isUndone ?? false
  const setUndone = (next: boolean) => {
    setState('saving')
    changeSummary(step.message, { isUndone: next }).then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  return (
    <Toolbar className={styles.actions}>
      <Versions step={step} />
      {edit && <Button onClick={edit}>{t('app.summary.edit')}</Button>}
      {(canUndo || isUndone) && (
        <Button disabled={state === 'saving'} onClick={() => setUndone(!isUndone)}>
          {t(isUndone ? 'app.summary.redo' : isOnly ? 'app.summary.undo' : 'app.summary.undoAlone')}
        </Button>
      )}
      <Button aria-expanded={isListOpen} onClick={toggleList}>
        {t(isListOpen ? 'app.summary.hideReplaced' : 'app.summary.showReplaced')}
      </Button>
      {typeof state === 'object' && <InlineError error={state.error} />}
    </Toolbar>
  )
}

/** Lists the loaded messages of a path that are not sent any more. */
const listReplaced = (steps: readonly PathStep[], firstSent: number): OpenedMessage[] =>
  steps.map(({ message }) => message).filter((message) => message.number < firstSent && !isSummary(message))

/** The most characters that are shown of a replaced message. */
const MAX_EXCERPT = 200

interface ReplacedMessagesProps {
  slug: string
  messages: readonly OpenedMessage[]
  /** How many there are, with those that are not loaded. */
  count: number
  models: readonly ChatModel[]
}

/** The beginnings of the messages that a summary stands for, with links to them. */
const ReplacedMessages = ({ slug, messages, count, models }: ReplacedMessagesProps) => (
  <>
    <ol className={styles.replaced}>
      {messages.map((message) => (
        <li key={message.number}>
          <Link to="/chat/$slug" params={{ slug }} hash={writeNumber(message.number)} dir="auto">
            {describeMessage(message, models)}
          </Link>
        </li>
      ))}
    </ol>
    {messages.length < count && (
      <p className="hint">{t('app.summary.notLoaded', { count: count - messages.length })}</p>
    )}
  </>
)

function describeMessage({ role, model, answer, attachments }: OpenedMessage, models: readonly ChatModel[]): string {
  const author = role === 'user' ? t('app.message.you') : findModelLabel(model ?? '', models)
  const files = attachments.map(({ name }) => name)
  return [`${author}:`, ...files, stripMarkdown(joinTexts(answer).slice(0, MAX_EXCERPT))].join(' ')
}
