import type { ComponentProps, ReactNode } from 'react'
import { t } from '../shared/text/labels.ts'
import { joinClasses } from '../shared/ui/class-names.ts'
import { ErrorMessage, ErrorNotice } from '../shared/ui/error-message.tsx'
import { Section } from '../shared/ui/section.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import styles from './parts.module.css'

/** A titled part of a page. */
export const Part = (props: { title: string; children: ReactNode }) => <Section {...props} className={styles.part} />

/** Texts of one column with the buttons that belong to them. */
export const TextBlock = (props: ComponentProps<'div'>) => <div className={styles.block} {...props} />

/** Texts beside each other where there is room. */
export const SideBySide = ({ children }: { children: ReactNode }) => <div className={styles.columns}>{children}</div>

/** A text of a program, as it is. */
export const Preformatted = ({ children }: { children: ReactNode }) => <pre className={styles.source}>{children}</pre>

interface FoldedProps {
  summary: string
  children: ReactNode
}

/** Something that is folded away below its name. */
export const Folded = ({ summary, children }: FoldedProps) => (
  <details>
    <summary className={styles.summary}>{summary}</summary>
    {children}
  </details>
)

export type StateKind = 'ok' | 'warn' | 'wrong' | 'idle'

interface StateBadgeProps {
  kind: StateKind
  children: string
  title?: string
}

/** A state as a word with a colored mark. */
export const StateBadge = ({ kind, title, children }: StateBadgeProps) => (
  <span className={joinClasses(styles.state, styles[kind])} title={title}>
    {children}
  </span>
)

/** Says that something is on or off. */
export const OnOffBadge = ({ isOn }: { isOn: boolean }) => (
  <StateBadge kind={isOn ? 'ok' : 'idle'}>{t(isOn ? 'app.admin.on' : 'app.admin.modelOff')}</StateBadge>
)

interface LoadedProps<Data> {
  /** Undefined while it is read; null if it does not exist. */
  data: Data | null | undefined
  error: unknown
  children: (data: Data) => ReactNode
}

/** What was read, or the reason why it is not there. If reading it again failed, it says that it may be out of date. */
export function Loaded<Data>({ data, error, children }: LoadedProps<Data>) {
  if (data === undefined) return error ? <ErrorMessage error={error} /> : <Skeleton />
  if (data === null) return <p>{t('app.error.not_found')}</p>
  return (
    <>
      <ErrorNotice error={error} />
      {children(data)}
    </>
  )
}
