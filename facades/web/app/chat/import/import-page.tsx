import { useQuery } from '@tanstack/react-query'
import { type DragEvent, useId, useRef } from 'react'
import { api } from '../../shared/api/client.ts'
import { describeError } from '../../shared/api/error-text.ts'
import { useSession } from '../../shared/session.tsx'
import { formatSize } from '../../shared/text/file-size.ts'
import { t } from '../../shared/text/labels.ts'
import { Button } from '../../shared/ui/button.tsx'
import { ErrorNotice } from '../../shared/ui/error-message.tsx'
import { Notice } from '../../shared/ui/notice.tsx'
import { Page } from '../../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../../shared/ui/page-head.tsx'
import {
  type ImportProblem,
  type ImportState,
  MAX_FILE_BYTES,
  type Quota,
  startImport,
  stopImport,
  useImport,
} from './conversation-import.ts'
import styles from './import-page.module.css'

/** Imports conversations from other chat services. */
export function ImportPage() {
  const state = useImport()
  usePageTitle(t('app.import'))
  const { data: quota, error } = useQuery({
    queryKey: ['conversations', 'quota'],
    queryFn: ({ signal }) => api.conversations.quota.query(undefined, { signal }),
  })
  return (
    <Page>
      <PageHead>
        <h1>{t('app.import')}</h1>
      </PageHead>
      <div className={styles.import}>
        <p>{t('app.import.text')}</p>
        <ErrorNotice error={error} />
        {quota && <ImportLimits quota={quota} />}
        {quota && state?.phase !== 'running' && <FileChoice quota={quota} />}
        {state && <ImportProgress state={state} />}
      </div>
    </Page>
  )
}

/** Shows the limits of the service before an import. */
const ImportLimits = ({ quota: { conversations, bytes, messages } }: { quota: Quota }) => (
  <ul className={styles.limits}>
    <li>
      {t('app.import.conversations', {
        left: Math.max(0, conversations.most - conversations.kept),
        most: conversations.most,
      })}
    </li>
    <li>
      {t('app.import.bytes', {
        left: formatSize(Math.max(0, bytes.most - bytes.kept)),
        most: formatSize(bytes.most),
      })}
    </li>
    <li>{t('app.import.messages', { most: messages })}</li>
    <li>{t('app.import.file', { most: formatSize(MAX_FILE_BYTES) })}</li>
  </ul>
)

function FileChoice({ quota }: { quota: Quota }) {
  const { conversationKey: key } = useSession()
  const input = useRef<HTMLInputElement>(null)
  const hint = useId()
  const start = (file: File | undefined) => file && startImport(file, key, quota)
  const dropTarget = {
    onDragOver: (event: DragEvent) => event.preventDefault(),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      start(event.dataTransfer.files[0])
    },
  }
  return (
    <div className={styles.target} {...dropTarget}>
      <input
        ref={input}
        type="file"
        accept=".zip,.json"
        hidden
        onChange={({ target }) => {
          start(target.files?.[0])
          target.value = ''
        }}
      />
      <Button kind="primary" aria-describedby={hint} onClick={() => input.current?.click()}>
        {t('app.import.choose')}
      </Button>
      <p className="hint" id={hint}>
        {t('app.import.drop')}
      </p>
    </div>
  )
}

const phaseLabels = {
  running: 'app.import.running',
  done: 'app.import.done',
  none: 'app.import.none',
  stopped: 'app.import.stopped',
  failed: 'app.import.failed',
} as const

function ImportProgress({ state }: { state: ImportState }) {
  const { phase, fileName, progress, stored, known, problems, unlisted, error } = state
  const isRunning = phase === 'running'
  const hasNone = phase === 'done' && stored + known === 0
  return (
    <section className={styles.progress} aria-label={fileName}>
      <h2>{t(phaseLabels[hasNone ? 'none' : phase], { name: fileName })}</h2>
      {isRunning && <progress value={progress} aria-label={t('app.import.progress')} />}
      <p role="status">
        {t('app.import.stored', { count: stored })}
        {known > 0 && ` ${t('app.import.known', { count: known })}`}
      </p>
      {isRunning && (
        <p>
          <Button onClick={stopImport}>{t('app.composer.stop')}</Button>
        </p>
      )}
      {error !== undefined && (
        <Notice kind="error" role="alert">
          {describeError(error)} {t('app.import.again')}
        </Notice>
      )}
      {problems.length > 0 && <Problems problems={problems} unlisted={unlisted} />}
    </section>
  )
}

const Problems = ({ problems, unlisted }: { problems: readonly ImportProblem[]; unlisted: number }) => (
  <section className={styles.problems}>
    <h3>{t('app.import.problems')}</h3>
    <ul>
      {problems.map((problem, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: problems are only appended.
        <li key={index} dir="auto">
          {describeProblem(problem)}
        </li>
      ))}
      {unlisted > 0 && <li>{t('app.import.unlisted', { count: unlisted })}</li>}
    </ul>
  </section>
)

const problemLabels = {
  archive: 'app.import.problem.archive',
  cut: 'app.import.problem.cut',
  damaged: 'app.import.problem.damaged',
  otherFile: 'app.import.problem.otherFile',
  other: 'app.import.problem.entry',
  tooLong: 'app.import.problem.tooLong',
  tooMuch: 'app.import.problem.tooMuch',
  tooLargeFile: 'app.import.problem.packed',
  empty: 'app.import.problem.empty',
  tooMany: 'app.import.problem.tooMany',
  unreadable: 'app.import.problem.unreadable',
  shortened: 'app.import.problem.shortened',
  files: 'app.import.problem.files',
} as const satisfies Record<ImportProblem['kind'], string>

function describeProblem(problem: ImportProblem): string {
  const key = problemLabels[problem.kind]
  const { name } = problem
  if ('count' in problem) return t(key, { name, count: problem.count })
  return t(key, { name, position: problem.position ?? 0, most: formatSize(MAX_FILE_BYTES) })
}
