import { Link } from '@tanstack/react-router'
import { type ReactNode, useId, useState } from 'react'
import { joinTexts } from '../shared/conversation/answer-segments.ts'
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
import { isSummary } from './sent-history.ts'
import { Versions } from './step-actions.tsx'
import styles from './summary-message.module.css'

interface SummaryMessageProps {
  slug: string
  step: PathStep
  /** The shown path, as far as it is loaded. */
  steps: readonly PathStep[]
  models: readonly ChatModel[]
  /** True if it is sent with the next question, and no later summary in place of it. */
  isUsed: boolean
  isTarget: boolean
}

/** A summary that stands for earlier messages: it can be read, changed, and undone. */
export function SummaryMessage({ slug, step, steps, models, isUsed, isTarget }: SummaryMessageProps) {
  const { message } = step
  const { number, model, answer } = message
  const { changeSummary } = useChatActions()
  const [isEditing, setEditing] = useState(false)
  const headingId = useId()
  if (!answer.summary) return null
  const { replaced, firstSent, isUndone = false } = answer.summary
  return (
    <article
      id={writeNumber(number)}
      className={styles.summary}
      aria-labelledby={headingId}
      aria-current={isTarget || undefined}
    >
      <h2 id={headingId}>{t('app.summary.title', { count: replaced })}</h2>
      <p className="hint">
        {t('app.summary.by', { model: findModelLabel(model ?? '', models) })} {t(describeUse(isUsed, isUndone))}
      </p>
      {isEditing ? (
        <EditForm
          label={t('app.summary.edit')}
          text={answer.text}
          action={t('app.save')}
          save={(text) => changeSummary(message, { text })}
          close={() => setEditing(false)}
        />
      ) : (
        <SourceBoundary source={answer.text}>
          <Markdown text={answer.text} />
        </SourceBoundary>
      )}
      <SummaryActions message={message} canUndo={isUsed} edit={isEditing ? undefined : () => setEditing(true)}>
        <Versions step={step} />
      </SummaryActions>
      <ReplacedMessages slug={slug} steps={steps.filter((each) => each.message.number < firstSent)} count={replaced} />
    </article>
  )
}

function describeUse(isUsed: boolean, isUndone: boolean): string {
  if (isUndone) return 'app.summary.undone'
  return isUsed ? 'app.summary.used' : 'app.summary.superseded'
}

interface SummaryActionsProps {
  message: OpenedMessage
  canUndo: boolean
  edit: (() => void) | undefined
  children: ReactNode
}

function SummaryActions({ message, canUndo, edit, children }: SummaryActionsProps) {
  const { changeSummary } = useChatActions()
  const [state, setState] = useState<'ready' | 'saving' | { error: unknown }>('ready')
  const isUndone = message.answer.summary?.isUndone ?? false
  const setUndone = (next: boolean) => {
    setState('saving')
    changeSummary(message, { isUndone: next }).then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  return (
    <Toolbar>
      {children}
      {edit && <Button onClick={edit}>{t('app.summary.edit')}</Button>}
      {(canUndo || isUndone) && (
        <Button disabled={state === 'saving'} onClick={() => setUndone(!isUndone)}>
          {t(isUndone ? 'app.summary.redo' : 'app.summary.undo')}
        </Button>
      )}
      {typeof state === 'object' && <InlineError error={state.error} />}
    </Toolbar>
  )
}

/** The most characters that are shown of a replaced message. */
const MAX_EXCERPT = 200

interface ReplacedMessagesProps {
  slug: string
  /** The messages before the summary that are loaded. */
  steps: readonly PathStep[]
  count: number
}

/** Lists the beginnings of the messages that a summary stands for, with links to them. */
function ReplacedMessages({ slug, steps, count }: ReplacedMessagesProps) {
  const [isOpen, setOpen] = useState(false)
  const messages = steps.map(({ message }) => message).filter((message) => !isSummary(message))
  return (
    <>
      <Button kind="plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {t(isOpen ? 'app.summary.hideReplaced' : 'app.summary.showReplaced')}
      </Button>
      {isOpen && (
        <ol className={styles.replaced}>
          {messages.map(({ number, role, model, answer, attachments }) => (
            <li key={number}>
              <Link to="/chat/$slug" params={{ slug }} hash={writeNumber(number)} dir="auto">
                {`${role === 'user' ? t('app.message.you') : model}: ${describe(joinTexts(answer), attachments)}`}
              </Link>
            </li>
          ))}
        </ol>
      )}
      {isOpen && messages.length < count && (
        <p className="hint">{t('app.summary.notLoaded', { count: count - messages.length })}</p>
      )}
    </>
  )
}

const describe = (text: string, files: OpenedMessage['attachments']): string =>
  [...files.map(({ name }) => name), stripMarkdown(text.slice(0, MAX_EXCERPT))].join(' ')
