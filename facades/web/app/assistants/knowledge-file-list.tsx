import { type DragEvent, useRef, useState } from 'react'
import { formatMegabytes } from '../shared/text/file-size.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import styles from './knowledge-file-list.module.css'
import {
  type KnowledgeFile,
  type KnowledgeUpload,
  removeFile,
  useKnowledgeFiles,
  useKnowledgeUploads,
} from './knowledge-files.ts'

/** The files of a knowledge with their states, and a field for more of them. */
export function KnowledgeFileList({ id }: { id: number }) {
  const { data, error } = useKnowledgeFiles(id)
  const { uploads, add, forget } = useKnowledgeUploads(id)
  const [failure, setFailure] = useState<unknown>()
  const input = useRef<HTMLInputElement>(null)
  const dropTarget = {
    onDragOver: (event: DragEvent) => event.preventDefault(),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      add(event.dataTransfer.files)
    },
  }
  const files = data?.files ?? []
  return (
    <>
      <fieldset className={styles.target} aria-label={t('app.knowledge.add')} {...dropTarget}>
        <p>{t('app.knowledge.drop')}</p>
        <Button onClick={() => input.current?.click()}>{t('app.knowledge.choose')}</Button>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label={t('app.knowledge.choose')}
          onChange={({ target }) => {
            add(target.files ?? [])
            target.value = ''
          }}
        />
      </fieldset>
      <ErrorMessage error={error ?? failure} />
      {(files.length > 0 || uploads.length > 0) && (
        <ul className={styles.files} aria-label={t('app.files')}>
          {uploads.map((upload) => (
            <UploadRow key={upload.key} upload={upload} forget={() => forget(upload.key)} />
          ))}
          {files.map((file) => (
            <FileRow key={file.id} file={file} remove={() => void removeFile(id, file).catch(setFailure)} />
          ))}
        </ul>
      )}
      {data && data.total > files.length && (
        <p className="hint">{t('app.knowledge.more', { shown: files.length, all: data.total })}</p>
      )}
    </>
  )
}

const UploadRow = ({
  upload: { name, progress, refusal },
  forget,
}: {
  upload: KnowledgeUpload
  forget: () => void
}) => (
  <li>
    <div className={styles.file}>
      <span dir="auto">{name}</span>
      {refusal === undefined ? (
        <progress value={progress} aria-label={t('app.files.sending', { name })} />
      ) : (
        <span className={joinClasses(styles.state, 'error')} role="alert">
          {refusal}
        </span>
      )}
    </div>
    <IconButton icon="close" label={t('app.knowledge.cancel', { name })} onClick={forget} />
  </li>
)

const failureLabels = {
  encrypted: 'app.knowledge.failed.encrypted',
  damaged: 'app.knowledge.failed.damaged',
  'too-large': 'app.knowledge.failed.tooLarge',
  'too-much-memory': 'app.knowledge.failed.tooLarge',
  'too-slow': 'app.knowledge.failed.tooSlow',
  'unknown-encoding': 'app.knowledge.failed.encoding',
  'not-read': 'app.knowledge.failed.notRead',
  'no-text': 'app.knowledge.failed.noText',
  full: 'app.knowledge.failed.full',
} as const satisfies Record<NonNullable<KnowledgeFile['failure']>, string>

/** Says how far a file is, and what is missing of it. */
function describeFile({ state, failure, pages, notes, bytes, passages, truncated }: KnowledgeFile): string {
  const empty = notes.find(({ gap }) => gap === 'pages')?.count
  const emptyPages = empty && pages ? t('app.knowledge.emptyPages', { empty, pages }) : undefined
  if (state === 'waiting') return t('app.knowledge.waiting')
  if (state === 'reading') return t('app.knowledge.reading')
  if (failure) return (failure === 'no-text' && emptyPages) || t(failureLabels[failure])
  const sentences = [
    t('app.knowledge.ready', { size: formatMegabytes(bytes), count: passages }),
    emptyPages,
    truncated ? t('app.knowledge.truncated') : undefined,
  ]
  return sentences.filter((sentence) => sentence !== undefined).join(' ')
}

function FileRow({ file, remove }: { file: KnowledgeFile; remove: () => void }) {
  const { path, state } = file
  const isPending = state === 'waiting' || state === 'reading'
  return (
    <li>
      <div className={styles.file}>
        <span dir="auto">{path}</span>
        <span className={joinClasses(styles.state, state === 'failed' ? 'error' : 'hint')} role="status">
          {describeFile(file)}
        </span>
      </div>
      <IconButton
        icon={isPending ? 'close' : 'trash'}
        label={t(isPending ? 'app.knowledge.cancel' : 'app.knowledge.remove', { name: path })}
        onClick={remove}
      />
    </li>
  )
}
