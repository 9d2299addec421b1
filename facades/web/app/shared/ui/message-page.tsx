import type { ReactNode } from 'react'
import styles from './message-page.module.css'

/** A page with a few sentences in its middle, in place of one that cannot be shown. */
export const MessagePage = ({ children }: { children: ReactNode }) => (
  <main className={styles.page} id="main">
    {children}
  </main>
)
