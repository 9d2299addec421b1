import { dismissClosingWarning, useClosingWarning } from '../shared/closing-guard.ts'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import styles from './closing-notice.module.css'

/** Tells whoever wanted to close the tab that this ends an answer. */
export function ClosingNotice() {
  if (!useClosingWarning()) return null
  return (
    <Notice kind="warning" layout="row" role="status" className={styles.notice}>
      <span>{t('app.closing')}</span>
      <IconButton icon="close" label={t('app.close')} onClick={dismissClosingWarning} />
    </Notice>
  )
}
