import type { ReactNode } from 'react'
import styles from './message-actions.module.css'

/**
 * The buttons of a message: below it, or floating at its corner while the pointer or the focus is in it. On touch
 * screens they are always below it.
 */
export const MessageActions = ({ isFloating = false, children }: { isFloating?: boolean; children: ReactNode }) => (
  <div className={isFloating ? styles.floating : styles.actions}>{children}</div>
)
