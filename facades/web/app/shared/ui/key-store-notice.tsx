import { useState } from 'react'
import { deleteStore } from '../../../browser/keystore.ts'
import { t } from '../text/labels.ts'
import { Button } from './button.tsx'
import { Notice } from './notice.tsx'

/** Says that the store for keys in this browser is damaged, with a button that begins a new one. */
export function KeyStoreNotice() {
  const [isUnusable, setUnusable] = useState(false)
  const begin = () =>
    deleteStore().then(
      () => location.reload(),
      () => setUnusable(true),
    )
  return (
    <Notice kind="error" role="alert">
      <p>{t(isUnusable ? 'page.keystore.unusable' : 'page.keystore.damaged')}</p>
      <Button onClick={begin}>{t('page.keystore.begin')}</Button>
    </Notice>
  )
}
