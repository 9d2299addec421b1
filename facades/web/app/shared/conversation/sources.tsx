import { Link } from '../markdown/link.tsx'
import { getHost } from '../markdown/safe-link.ts'
import { t } from '../text/labels.ts'
import type { Source } from './answer.ts'
import styles from './sources.module.css'

/** The pages that an answer cites. */
export const Sources = ({ sources }: { sources: readonly Source[] }) =>
  sources.length > 0 && (
    <section className={styles.sources} aria-label={t('app.sources')}>
      <ol>
        {sources.map(({ url, title }) => (
          <li key={url}>
            <Link href={url} words={title ?? getHost(url)}>
              {title ?? getHost(url)}
            </Link>{' '}
            <span className="hint">{getHost(url)}</span>
          </li>
        ))}
      </ol>
    </section>
  )
