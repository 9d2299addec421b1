import type { ReactNode } from 'react'
import { Markdown } from '../markdown/markdown.tsx'
import { t } from '../text/labels.ts'
import { joinClasses } from '../ui/class-names.ts'
import { Icon } from '../ui/icon.tsx'
import type { Source } from './answer.ts'
import styles from './message-view.module.css'
import { Sources } from './sources.tsx'

interface MessageViewProps {
  id?: string | undefined
  className?: string | undefined
  /** True for a question of the person, below which there is space for its answer. */
  isQuestion?: boolean
  /** The name of the author; null for the person who looks. */
  name: string | null
  /** The time and state beside the name, if they are shown. */
  facts?: ReactNode
  isBusy?: boolean | undefined
  /** True for the message that a search or the address leads to. */
  isTarget?: boolean
  children: ReactNode
}

/** A message of a person or a model below the name of its author. */
export const MessageView = ({
  id,
  className,
  name,
  facts,
  isQuestion,
  isBusy,
  isTarget = false,
  children,
}: MessageViewProps) => (
  <article
    id={id}
    className={className}
    aria-label={name === null ? t('app.message.own') : t('app.message.by', { name })}
    aria-busy={isBusy}
    aria-current={isTarget || undefined}
    data-question={isQuestion}
  >
    {facts === undefined ? (
      <h2>{name ?? t('app.message.you')}</h2>
    ) : (
      <header>
        <h2>{name ?? t('app.message.you')}</h2>
        {facts}
      </header>
    )}
    {children}
  </article>
)

interface MessageTextProps {
  text: string
  sources?: readonly Source[]
  /** True for messages of people, whose line breaks are kept. */
  hasLineBreaks?: boolean
  isStreaming?: boolean
}

const noSources: readonly Source[] = []

/** The text of a message with the pages that it cites. */
export const MessageText = ({
  text,
  sources = noSources,
  hasLineBreaks = false,
  isStreaming = false,
}: MessageTextProps) => (
  <Sources sources={sources}>
    <Markdown text={text} hasLineBreaks={hasLineBreaks} isStreaming={isStreaming} />
  </Sources>
)

/** Says why a message cannot be read. */
export const UnreadableNote = ({ reason }: { reason: string }) => (
  <p className={joinClasses('hint', styles.unreadable)}>
    <Icon name="lock" /> {reason}
  </p>
)
