import type { ReactNode } from 'react'
import { Markdown } from '../markdown/markdown.tsx'
import { t } from '../text/labels.ts'
import { Icon } from '../ui/icon.tsx'
import type { Source } from './answer.ts'
import { Sources } from './sources.tsx'

interface MessageViewProps {
  id?: string | undefined
  className: string
  /** The name of the author. */
  name: string
  /** The time and state beside the name, if they are shown. */
  facts?: ReactNode
  isBusy?: boolean | undefined
  children: ReactNode
}

/** A message of a person or a model below the name of its author. */
export const MessageView = ({ id, className, name, facts, isBusy, children }: MessageViewProps) => (
  <article id={id} className={className} aria-label={t('app.message.by', { name })} aria-busy={isBusy}>
    {facts === undefined ? (
      <h2>{name}</h2>
    ) : (
      <header>
        <h2>{name}</h2>
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

/** The text of a message with the pages that it cites. */
export const MessageText = ({ text, sources = [], hasLineBreaks = false, isStreaming = false }: MessageTextProps) => (
  <>
    <Markdown text={text} hasLineBreaks={hasLineBreaks} isStreaming={isStreaming} />
    <Sources sources={sources} />
  </>
)

/** Says why a message cannot be read. */
export const UnreadableNote = ({ reason }: { reason: string }) => (
  <p className="hint unreadable">
    <Icon name="lock" /> {reason}
  </p>
)
