import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { forgetTemporaryDrafts, keepTemporaryDrafts, StoredDraft } from '../shared/conversation/draft.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { refreshConversations } from './conversations.ts'
import { getQueueName, queuedQuestions } from './queued-questions.ts'
import { forgetTemporaryChat, hasFiles, keepTemporaryChat, useIsKeeping } from './temporary-chats.ts'

/** Tells that a chat is not stored, before its first question. */
export const TemporaryHint = () => <Notice>{t('app.temporary.hint')}</Notice>

/** Tells that the chat is not stored, and stores it on demand. */
export function TemporaryNotice({ slug, isAnswering }: { slug: string; isAnswering: boolean }) {
  const { connection, conversationKey: key } = useSession()
  const owner = String(connection.userinfo?.id)
  const navigate = useNavigate()
  const isKeeping = useIsKeeping(slug)
  const [error, setError] = useState<unknown>()
  const keep = async () => {
    const kept = await keepTemporaryChat(key, slug)
    await refreshConversations()
    await keepTemporaryDrafts(key, owner, [slug, kept])
    await queuedQuestions.move(slug, kept, new StoredDraft(key, owner, getQueueName(kept)))
    await navigate({ to: '/chat/$slug', params: { slug: kept }, replace: true })
    forgetTemporaryChat(slug)
    forgetTemporaryDrafts(owner, slug)
  }
  const start = () => {
    setError(undefined)
    keep().catch(setError)
  }
  return (
    <>
      <ErrorNotice error={error} />
      <Notice layout="row">
        <span>
          {t('app.temporary.hint')} {hasFiles(slug) && t('app.temporary.filesGo')}
        </span>
        <Button kind="plain" disabled={isAnswering || isKeeping} onClick={start}>
          {t('app.temporary.keep')}
        </Button>
      </Notice>
    </>
  )
}
