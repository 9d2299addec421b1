import type { ReactNode } from 'react'
import styles from './people-list.module.css'

/** People in rows, each with buttons behind their name. */
export const PeopleList = ({ label, children }: { label?: string; children: ReactNode }) => (
  <ul className={styles.people} aria-label={label}>
    {children}
  </ul>
)

/** The name of a person, above what is known of them. */
export const PersonName = ({ name, children }: { name: ReactNode; children?: ReactNode }) => (
  <span className={styles.person}>
    <span dir="auto">{name}</span>
    {children}
  </span>
)
