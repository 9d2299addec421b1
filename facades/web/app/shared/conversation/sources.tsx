import { lazy, Suspense, useState } from 'react'
import { Link } from '../markdown/link.tsx'
import { getHost } from '../markdown/safe-link.ts'
import { t } from '../text/labels.ts'
import type { CitedPassage, Source } from './answer.ts'
import { describePlace } from './cited-passage.ts'
import styles from './sources.module.css'

const PassageDialog = lazy(async () => ({ default: (await import('../../sources/passage-dialog.tsx')).PassageDialog }))

/** The pages and the passages of files that an answer cites. Passages have the numbers that the text has. */
export function Sources({ sources }: { sources: readonly Source[] }) {
  const [opened, setOpened] = useState<string>()
  if (sources.length === 0) return null
  return (
    <section className={styles.sources} aria-label={t('app.sources')}>
      <ol>
        {sources.toSorted(compareNumbers).map(({ url, title, passage }) =>
          passage ? (
            <li key={url} value={passage.number}>
              <PassageButton passage={passage} open={() => setOpened(url)} />
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
          <PassageDialog url={opened} close={() => setOpened(undefined)} />
        </Suspense>
      )}
    </section>
  )
}

/** Passages come first, so that the numbers of pages behind them go on. */
const compareNumbers = (one: Source, other: Source) =>
  (one.passage?.number ?? Number.MAX_SAFE_INTEGER) - (other.passage?.number ?? Number.MAX_SAFE_INTEGER)

/** Opens the passage, with its place beside it. */
const PassageButton = ({ passage, open }: { passage: CitedPassage; open: () => void }) => (
  <>
    <button type="button" className={styles.passage} onClick={open} aria-haspopup="dialog">
      {passage.path}
    </button>{' '}
    <span className="hint">{describePlace(passage)}</span>
  </>
)
