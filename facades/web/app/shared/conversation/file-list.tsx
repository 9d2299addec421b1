import type { ComponentProps, ReactNode } from 'react'
import { t } from '../text/labels.ts'
import styles from './file-list.module.css'

/** The files of a message. */
export const FileList = ({ children }: { children: ReactNode }) => (
  <ul className={styles.files} aria-label={t('app.files')}>
    {children}
  </ul>
)

interface FileProps {
  name: string
  /** A small picture of the file, or an icon. */
  picture: ReactNode
}

/** A file that opens in another tab. */
export const FileLink = ({ name, picture, href }: FileProps & { href: string }) => (
  <a className={styles.file} href={href} target="_blank" rel="noreferrer">
    {picture}
    <span>{name}</span>
  </a>
)

/** A file that this page decrypts when it is chosen. */
export const FileButton = ({ name, picture, ...rest }: FileProps & ComponentProps<'button'>) => (
  <button type="button" className={styles.file} title={name} {...rest}>
    {picture}
    <span>{name}</span>
  </button>
)
