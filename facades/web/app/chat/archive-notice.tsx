import { useState } from 'react'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { organizeConversation, useConversation } from './conversations.ts'

/** Tells that the conversation is archived, and restores it. */
export function ArchiveNotice({ slug }: { slug: string }) {
  const { data } = useConversation(slug)
  const { conversationKey: key } = useSession()
  const [error, setError] = useState<unknown>()
  if (!data?.isArchived) return null
  const restore = () => organizeConversation(key, { slug, isArchived: false }).catch(setError)
  return (
    <>
      <ErrorNotice error={error} />
      <Notice layout="row">
        <span>{t('app.archive.notice')}</span>
        <Button kind="plain" onClick={() => void restore()}>
          {t('app.archive.leave')}
        </Button>
      </Notice>
    </>
  )
}
