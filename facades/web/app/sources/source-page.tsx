import { t } from '../shared/text/labels.ts'
import { Page } from '../shared/ui/page.tsx'
import { PageHead, usePageTitle } from '../shared/ui/page-head.tsx'
import { PassageView } from './passage-view.tsx'
import styles from './source-page.module.css'

/** The page at the address of a citation, which programs show to people. */
export function SourcePage({ address }: { address: string }) {
  usePageTitle(t('app.source.title'))
  return (
    <Page>
      <PageHead>
        <h1>{t('app.source.title')}</h1>
      </PageHead>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
      <section className={styles.body} aria-label={t('app.source.title')} tabIndex={0}>
        <PassageView address={address} />
      </section>
    </Page>
  )
}
