import { t } from '../text/labels.ts'
import { hostOf, Link } from './link.tsx'

/** A page that an answer rests on. */
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
            <Link href={url} words={title ?? hostOf(url)}>
              {title ?? hostOf(url)}
            </Link>{' '}
            <span className="hint">{hostOf(url)}</span>
          </li>
        ))}
      </ol>
    </section>
  )
