import { lazy, Suspense, useState } from 'react'
import { Link } from '../markdown/link.tsx'
import { getHost } from '../markdown/safe-link.ts'
import { t } from '../text/labels.ts'
import type { Source } from './answer.ts'
import { describePlace } from './cited-passage.ts'
import styles from './sources.module.css'

const PassageDialog = lazy(async () => ({ default: (await import('../../sources/passage-dialog.tsx')).PassageDialog }))

interface SourcesProps {
  sources: readonly Source[]
  /** True in a copy outside of the chats: passages are links to the page that shows them to whoever may read them. */
  isCopy?: boolean | undefined
}

/** The pages and the passages of files that an answer cites. Passages have the numbers that the text has. */
export function Sources({ sources, isCopy }: SourcesProps) {
  const [opened, setOpened] = useState<string>()
  if (sources.length === 0) return null
  return (
    <section className={styles.sources} aria-label={t('app.sources')}>
      <ol>
        {sources.toSorted(compareNumbers).map(({ url, title, passage }) =>
          passage ? (
            <li key={url} value={passage.number}>
              {isCopy ? (
                <a href={`/sources/${encodeURIComponent(readAddress(url))}`} target="_blank" rel="noopener">
                  {passage.path}
                </a>
              ) : (
                <button
                  type="button"
                  className={styles.passage}
                  onClick={() => setOpened(readAddress(url))}
                  aria-haspopup="dialog"
                >
                  {passage.path}
                </button>
              )}{' '}
              <span className="hint">{describePlace(passage)}</span>
            </li>
          ) : (
            <li key={url}>
              <Link href={url} words={title ?? getHost(url)}>
                {title ?? getHost(url)}
              </Link>{' '}
              <span className="hint">{getHost(url)}</span>
            </li>
          ),
        )}
      </ol>
      {opened !== undefined && (
        <Suspense>
          <PassageDialog address={opened} close={() => setOpened(undefined)} />
        </Suspense>
      )}
    </section>
  )
}

/** Passages come first, so that the numbers of pages behind them go on. */
const compareNumbers = (one: Source, other: Source) =>
  (one.passage?.number ?? Number.MAX_SAFE_INTEGER) - (other.passage?.number ?? Number.MAX_SAFE_INTEGER)

const readAddress = (url: string) => url.slice(url.lastIndexOf('/') + 1)
