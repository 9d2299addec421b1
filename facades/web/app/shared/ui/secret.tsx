import { CopyButton } from './copy-button.tsx'
import styles from './secret.module.css'

interface SecretProps {
  label: string
  text: string
  copyText: string
}

/** Shows a secret that is displayed only once, with a button that copies it. */
export const Secret = ({ label, text, copyText }: SecretProps) => (
  <div className={styles.secret}>
    <output aria-label={label}>{text}</output>
    <CopyButton text={text} label={copyText} />
  </div>
)
