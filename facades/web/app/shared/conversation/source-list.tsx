import { lazy, Suspense } from 'react'
import { Link } from '../markdown/link.tsx'
import { getHost } from '../markdown/safe-link.ts'
import { type Citations, readPassageAddress } from '../passages.ts'
import { t } from '../text/labels.ts'
import type { Source } from './answer.ts'
import { describePlace } from './cited-passage.ts'
import styles from './source-list.module.css'

const PassageDialog = lazy(async () => ({ default: (await import('../../sources/passage-dialog.tsx')).PassageDialog }))

interface SourceListProps {
  sources: readonly Source[]
  open: Citations['open']
  /** The address of the passage that is shown over the page. */
  opened: string | undefined
  close: () => void
}

/** The pages and the passages of files that a text cites. */
export const SourceList = ({ sources, open, opened, close }: SourceListProps) => (
  <section className={styles.sources} aria-label={t('app.sources')}>
    <ol>
      {sources.toSorted(compareNumbers).map(({ url, title, passage }) =>
        passage ? (
          <li key={url} value={passage.number}>
            {open === undefined ? (
              <a href={`/sources/${encodeURIComponent(readPassageAddress(url))}`} target="_blank" rel="noopener">
                {passage.path}
              </a>
            ) : (
              <button
                type="button"
                className={styles.passage}
                onClick={() => open(readPassageAddress(url))}
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
        <PassageDialog address={opened} close={close} />
      </Suspense>
    )}
  </section>
)

/** Passages come first, so that the numbers of pages behind them go on. */
const compareNumbers = (one: Source, other: Source) =>
  (one.passage?.number ?? Number.MAX_SAFE_INTEGER) - (other.passage?.number ?? Number.MAX_SAFE_INTEGER)
