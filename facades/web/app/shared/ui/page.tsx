import type { ReactNode } from 'react'
import { joinClasses } from './class-names.ts'
import { ErrorNotice } from './error-message.tsx'
import styles from './page.module.css'

interface PageProps {
  className?: string | undefined
  children: ReactNode
}

/** A page with a head, a part that takes the height that is left, and perhaps a foot. */
export const Page = ({ className, children }: PageProps) => (
  <main id="main" className={joinClasses(styles.page, className)}>
    {children}
  </main>
)

/** Stands in the middle of a page that has nothing else to show. */
export const PagePlaceholder = ({ children }: { children: ReactNode }) => (
  <div className={styles.placeholder}>{children}</div>
)

/** The sentence that a placeholder begins with. */
export const Lead = ({ children }: { children: ReactNode }) => (
  <p className={styles.lead} dir="auto">
    {children}
  </p>
)

/** Says why a page cannot be shown. */
export const PageError = ({ error }: { error: unknown }) => (
  <div className={styles.failure}>
    <ErrorNotice error={error} />
  </div>
)
