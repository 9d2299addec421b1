import { lazy, Suspense, useState } from 'react'
import { t } from '../../shared/text/labels.ts'
import { IconButton } from '../../shared/ui/icon-button.tsx'

const ShareDialog = lazy(async () => ({ default: (await import('./share-dialog.tsx')).ShareDialog }))

/** Opens the dialog in which a chat is shared. */
export function ShareButton({ slug }: { slug: string }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <IconButton icon="link" label={t('app.share')} onClick={() => setOpen(true)} />
      {isOpen && (
        <Suspense>
          <ShareDialog slug={slug} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  )
}
