import { lazy, Suspense, useState } from 'react'
import type { StoredAssistant } from '../shared/assistants/content.ts'
import { type ContentForm, toContent } from '../shared/assistants/content.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import styles from './editor-page.module.css'

const Differences = lazy(async () => ({ default: (await import('../shared/assistants/differences.tsx')).Differences }))

/** Says that what is shown was written before and is not saved. */
export const KeptNotice = ({ discard }: { discard: () => void }) => (
  <Notice layout="row" role="status">
    <span>{t('app.assistants.kept')}</span>
    <Button onClick={discard}>{t('app.assistants.discard')}</Button>
  </Notice>
)

/** Says what an administrator said of the version that was refused last. */
export const RefusalNotice = ({ stored }: { stored: StoredAssistant | undefined }) =>
  stored?.refusal && (
    <Notice kind="warning">
      <p>{t('app.assistants.refused', { version: stored.refusal.version })}</p>
      <p dir="auto">{stored.refusal.reason}</p>
    </Notice>
  )

/** Shows a notice to whoever saves at the end of the form, and would not see it. */
export const scrollThere = (notice: HTMLElement | null) => notice?.scrollIntoView({ block: 'nearest' })

interface ConflictNoticeProps {
  stored: StoredAssistant
  mine: ContentForm
  /** The newest content. */
  theirs: ContentForm
  keepMine: () => void
  discard: () => void
}

/** Says that somebody else has saved meanwhile, and has the person decide. */
export function ConflictNotice({ stored, mine, theirs, keepMine, discard }: ConflictNoticeProps) {
  const [isShown, setShown] = useState(false)
  return (
    <Notice kind="warning" role="alert" className={styles.conflict} ref={scrollThere}>
      <p>{t('app.assistants.conflict', { version: stored.latest })}</p>
      {isShown && (
        <Suspense>
          <Differences before={toContent(theirs)} after={toContent(mine)} />
        </Suspense>
      )}
      <Toolbar>
        {!isShown && <Button onClick={() => setShown(true)}>{t('app.assistants.showDifference')}</Button>}
        <Button onClick={keepMine}>{t('app.assistants.keepMine')}</Button>
        <Button onClick={discard}>{t('app.assistants.takeTheirs')}</Button>
      </Toolbar>
    </Notice>
  )
}
