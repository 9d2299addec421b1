import { Link, useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useState } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { DAY_MS } from '../shared/days.ts'
import { language, t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { iconButtonClass } from '../shared/ui/icon-button.tsx'
import { useRowWindow } from '../shared/ui/row-window.ts'
import { ListFailure, ListSearch, SideList, SideNote } from '../shared/ui/side-list.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { PinnedAndFolders } from './conversation-folders.tsx'
import styles from './conversation-list.module.css'
import { ConversationRow, ListErrorContext } from './conversation-row.tsx'
import { useSelected } from './conversation-selection.ts'
import { refreshConversations, useConversations, useFolders, useHasArchive, usePinned } from './conversations.ts'
import { UndoNotice } from './undo-notice.tsx'

const TextResults = lazy(async () => ({ default: (await import('./text-search.tsx')).TextResults }))

/** The searchable list of conversations. */
export function ConversationList({ onChoose }: { onChoose: () => void }) {
  const [search, setSearch] = useState('')
  const [error, setError] = useState<unknown>()
  const name = useDeferredValue(search.trim())
  const [scroller, setScroller] = useState<HTMLElement | null>(null)
  return (
    <ListErrorContext value={setError}>
      <ListSearch label={t('app.conversations.search')} text={search} search={setSearch}>
        <Link
          to="/chat/import"
          className={iconButtonClass}
          aria-label={t('app.import')}
          title={t('app.import')}
          onClick={onChoose}
        >
          <Icon name="import" />
        </Link>
      </ListSearch>
      <Selection name={name} />
      <SideList ref={setScroller} label={t('app.conversations')}>
        <div>{name === '' && <PinnedAndFolders onChoose={onChoose} />}</div>
        <ConversationsByDay name={name} scroller={scroller} onChoose={onChoose} />
        {name !== '' && (
          <Suspense>
            <TextResults words={name} onChoose={onChoose} />
          </Suspense>
        )}
      </SideList>
      <ErrorNotice error={error} />
      <UndoNotice />
    </ListErrorContext>
  )
}

const SelectionBar = lazy(async () => ({ default: (await import('./selection-bar.tsx')).SelectionBar }))

/** The selected conversations, while there can be some. */
function Selection({ name }: { name: string }) {
  const selected = useSelected()
  const { conversations = [] } = useConversations(name)
  const navigate = useNavigate()
  if (!selected) return null
  const leave = (removed: readonly Conversation[]) => {
    if (removed.some(({ slug }) => location.pathname === `/chat/${slug}`)) void navigate({ to: '/chat' })
  }
  return (
    <Suspense>
      <SelectionBar selected={[...selected.values()]} listed={conversations} leave={leave} />
    </Suspense>
  )
}

interface ConversationsByDayProps {
  name: string
  /** The element that scrolls; null until it is in the document, after which the list is rendered again. */
  scroller: HTMLElement | null
  onChoose: () => void
}

/** The conversations by day, of which only the visible ones and some around them are in the document. */
function ConversationsByDay({ name, scroller, onChoose }: ConversationsByDayProps) {
  const { conversations, error, hasNextPage, fetchNextPage, isFetching } = useConversations(name)
  const lines = useMemo(() => groupByDay(conversations ?? []), [conversations])
  const heights = useMemo(() => lines.map((line) => (typeof line === 'string' ? HEADING_HEIGHT : ROW_HEIGHT)), [lines])
  const [list, setList] = useState<HTMLElement | null>(null)
  const { rows, height, isAtEnd } = useRowWindow({ list, scroller, heights })
  useEffect(() => {
    if (isAtEnd && hasNextPage && !isFetching) void fetchNextPage()
  }, [isAtEnd, hasNextPage, isFetching, fetchNextPage])
  if (error && !conversations) return <ListFailure error={error} read={refreshConversations} />
  if (!conversations) return <Skeleton />
  if (lines.length === 0 && !hasNextPage) return <NoConversations name={name} />
  return (
    <ul className={styles.rows} ref={setList} style={{ height }}>
      {rows.map(({ index, top }) => {
        const line = lines[index]
        const style = { transform: `translateY(${top}px)` }
        if (line === undefined) return null
        if (typeof line !== 'string')
          return (
            <ConversationRow
              key={line.slug}
              conversation={line}
              onChoose={onChoose}
              list={conversations}
              isMarked={line.isArchived}
              style={style}
            />
          )
        return (
          <li key={line} className={styles.day} style={style}>
            <h2>{line}</h2>
          </li>
        )
      })}
    </ul>
  )
}

/** Says that there are no conversations, unless all of them are pinned, in folders or in the archive. */
function NoConversations({ name }: { name: string }) {
  const [pinned, folders, hasArchive] = [usePinned(), useFolders(), useHasArchive()]
  if (name !== '') return <SideNote>{t('app.conversations.notFound')}</SideNote>
  if (hasArchive || pinned.length + folders.length > 0) return null
  return <SideNote>{t('app.conversations.none')}</SideNote>
}

const [HEADING_HEIGHT, ROW_HEIGHT] = [36, 34]

const monthFormat = new Intl.DateTimeFormat(language, { month: 'long', year: 'numeric' })

/** Groups conversations by the day of their last change, older ones by month. */
function groupByDay(conversations: readonly Conversation[], now = new Date()): (string | Conversation)[] {
  const groups = Map.groupBy(conversations, ({ updatedAt }) => getDayTitle(new Date(updatedAt), now))
  return [...groups].flatMap(([title, members]) => [title, ...members])
}

function getDayTitle(date: Date, now: Date): string {
  const days = Math.round((startOfDay(now) - startOfDay(date)) / DAY_MS)
  if (days <= 0) return t('app.day.today')
  if (days === 1) return t('app.day.yesterday')
  if (days < 7) return t('app.day.week')
  return monthFormat.format(date)
}

const startOfDay = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime()
