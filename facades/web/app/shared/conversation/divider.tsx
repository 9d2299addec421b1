import { joinClasses } from '../ui/class-names.ts'
import styles from './divider.module.css'

/** A line across the messages, with words in its middle. */
export const Divider = ({ text, isAccented = false }: { text: string; isAccented?: boolean }) => (
  <p className={joinClasses(styles.divider, isAccented && styles.accent)}>
    <span>{text}</span>
  </p>
)
