import type { ReactNode } from 'react'
import { Icon } from '../ui/icon.tsx'
import styles from './details.module.css'

/** Something beside the text of an answer, which is folded away: a thought or a tool call. */
export const Details = ({ summary, children }: { summary: ReactNode; children: ReactNode }) => (
  <details className={styles.details}>
    <summary>
      <Icon name="next" />
      {summary}
    </summary>
    {children}
  </details>
)

/** A part of the details, indented below their summary. */
export const DetailsPart = ({ children }: { children: ReactNode }) => <div className={styles.part}>{children}</div>
