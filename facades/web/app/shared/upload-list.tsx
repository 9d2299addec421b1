import type { ReactNode } from 'react'
import { type Attachment, useAttachment } from './attachment.ts'
import { t } from './text/labels.ts'
import { joinClasses } from './ui/class-names.ts'
import { IconButton } from './ui/icon-button.tsx'
import styles from './upload-list.module.css'
import type { Upload } from './uploads.ts'

/** Describes what stands against sending a file; returns undefined if nothing does. */
export type DescribeObstacle = (file: Attachment) => ReactNode | undefined

interface UploadListProps {
  uploads: readonly Upload[]
  remove: (key: number) => void
  describeObstacle?: DescribeObstacle | undefined
}

/** The files for the next message with their upload progress. */
export const UploadList = ({ uploads, remove, describeObstacle }: UploadListProps) =>
  uploads.length > 0 && (
    <ul className={styles.uploads} aria-label={t('app.files')}>
      {uploads.map((upload) => (
        <UploadRow
          key={upload.key}
          upload={upload}
          remove={() => remove(upload.key)}
          describeObstacle={describeObstacle}
        />
      ))}
    </ul>
  )

const textStateLabels = {
  pending: 'app.files.reading',
  ready: 'app.files.ready',
  none: 'app.files.ready',
  failed: 'app.files.unread',
} as const

interface UploadRowProps extends Pick<UploadListProps, 'describeObstacle'> {
  upload: Upload
  remove: () => void
}

function UploadRow({ upload, remove, describeObstacle }: UploadRowProps) {
  const { id, name, progress, refusal } = upload
  const attachment = useAttachment(id)
  const obstacle = attachment && describeObstacle?.(attachment)
  const isSending = id === undefined && refusal === undefined
  return (
    <li
      className={joinClasses(
        styles.upload,
        refusal !== undefined && styles.refused,
        obstacle !== undefined && styles.unfit,
      )}
    >
      <span className={styles.name}>{name}</span>
      {isSending && <progress value={progress} aria-label={t('app.files.sending', { name })} />}
      <span className={styles.state}>
        {refusal ?? obstacle ?? (id !== undefined && t(textStateLabels[attachment?.textState ?? 'ready']))}
      </span>
      <IconButton icon="close" label={t('app.files.remove', { name })} onClick={remove} />
    </li>
  )
}

interface KeptFileListProps {
  files: readonly { id: string; name: string }[]
  remove: (id: string) => void
}

/** The files of a message that is edited. */
export const KeptFileList = ({ files, remove }: KeptFileListProps) =>
  files.length > 0 && (
    <ul className={styles.kept} aria-label={t('app.files')}>
      {files.map(({ id, name }) => (
        <li key={id} className={styles.upload}>
          <span className={styles.name}>{name}</span>
          <IconButton icon="close" label={t('app.files.remove', { name })} onClick={() => remove(id)} />
        </li>
      ))}
    </ul>
  )
