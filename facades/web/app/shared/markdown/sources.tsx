import { t } from '../text/labels.ts'
import { getHost, Link } from './link.tsx'

/** A page that an answer cites. */
export interface Source {
  url: string
  title?: string | undefined
}

export const Sources = ({ sources }: { sources: readonly Source[] }) =>
  sources.length > 0 && (
    <section className="sources" aria-label={t('app.sources')}>
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
