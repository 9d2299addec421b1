import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { errorText } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { useConversations } from './conversations.ts'
import { groupByDay } from './day-groups.ts'

/** The conversations of the person by the day of their last change. */
export function ConversationList({ onChoose }: { onChoose: () => void }) {
  const { data, error, hasNextPage, fetchNextPage, isFetching } = useConversations()
  const groups = useMemo(() => groupByDay(data?.pages.flatMap((page) => page.data) ?? []), [data])
  return (
    <nav className="conversations" aria-label={t('app.conversations')}>
      {error && (
        <p className="wrong" role="alert">
          {errorText(error)}
        </p>
      )}
      {data && groups.length === 0 && <p className="hint">{t('app.conversations.none')}</p>}
      {groups.map(({ title, conversations }) => (
        <section key={title}>
          <h2>{title}</h2>
          <ul>
            {conversations.map((conversation) => (
              <Row key={conversation.slug} conversation={conversation} onChoose={onChoose} />
            ))}
          </ul>
        </section>
      ))}
      {hasNextPage && (
        <button type="button" className="plain-button" disabled={isFetching} onClick={() => fetchNextPage()}>
          {t('app.conversations.more')}
        </button>
      )}
    </nav>
  )
}

const Row = ({ conversation, onChoose }: { conversation: Conversation; onChoose: () => void }) => (
  <li>
    <Link
      to="/chat/$slug"
      params={{ slug: conversation.slug }}
      activeProps={{ 'aria-current': 'page' }}
      onClick={onChoose}
      dir="auto"
    >
      {conversation.name}
    </Link>
  </li>
)
