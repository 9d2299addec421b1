import { type DragEvent, useRef, useState } from 'react'
import { formatSize } from '../shared/text/file-size.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { joinClasses } from '../shared/ui/class-names.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import styles from './knowledge-file-list.module.css'
import {
  type KnowledgeFile,
  type KnowledgeUpload,
  PAGE_SIZE,
  removeFile,
  useKnowledgeFiles,
  useKnowledgeUploads,
} from './knowledge-files.ts'

/** The files of a knowledge with their states, and a field for more of them. */
export function KnowledgeFileList({ id }: { id: number }) {
  const [page, setPage] = useState(0)
  const { data, error } = useKnowledgeFiles(id, page)
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
  const last = Math.max(0, Math.ceil((data?.total ?? 0) / PAGE_SIZE) - 1)
  // The files of the last page may have been removed.
  if (data && page > last) setPage(last)
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
      {last > 0 && <Pages page={page} total={data?.total ?? 0} show={setPage} />}
    </>
  )
}

/** Buttons for the files before and behind a page. */
const Pages = ({ page, total, show }: { page: number; total: number; show: (page: number) => void }) => {
  const [from, to] = [page * PAGE_SIZE, Math.min(total, (page + 1) * PAGE_SIZE)]
  return (
    <Toolbar>
      <Button onClick={() => show(page - 1)} disabled={page === 0}>
        {t('app.knowledge.previous')}
      </Button>
      <span className="hint" role="status">
        {t('app.knowledge.range', { from: from + 1, to, all: total })}
      </span>
      <Button onClick={() => show(page + 1)} disabled={to >= total}>
        {t('app.knowledge.next')}
      </Button>
    </Toolbar>
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

const lateLabels = {
  provider: 'app.knowledge.late.provider',
  limit: 'app.knowledge.late.limit',
  model: 'app.knowledge.late.model',
} as const

/** Says how far the search by meaning is; undefined if it finds the whole file, or there is none. */
function describeEmbedding({ embedding, passages }: KnowledgeFile): string | undefined {
  if (embedding?.state === 'refused') return t('app.knowledge.wordsAlone')
  if (embedding?.state !== 'pending') return undefined
  const { delay, isLate, embedded } = embedding
  return isLate && delay ? t(lateLabels[delay]) : t('app.knowledge.embedding', { done: embedded, all: passages })
}

/** Says how far a file is, and what is missing of it. */
function describeFile(file: KnowledgeFile): string {
  const { state, failure, pages, notes, bytes, passages, truncated } = file
  const empty = notes.find(({ gap }) => gap === 'pages')?.count
  const emptyPages = empty && pages ? t('app.knowledge.emptyPages', { empty, pages }) : undefined
  if (state === 'waiting') return t('app.knowledge.waiting')
  if (state === 'reading') return t('app.knowledge.reading')
  if (failure) return (failure === 'no-text' && emptyPages) || t(failureLabels[failure])
  const sentences = [
    t('app.knowledge.ready', { size: formatSize(bytes), count: passages }),
    emptyPages,
    truncated ? t('app.knowledge.truncated') : undefined,
    describeEmbedding(file),
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
