import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import { ListFailure, ListSearch } from '../shared/ui/side-list.tsx'
import { ConversationRow } from './conversation-row.tsx'
import { refreshConversations, useConversations, useFolders, usePinned } from './conversations.ts'
import { groupByDay } from './day-groups.ts'
import { restoreConversation, useDiscarded } from './discarded.ts'
import { Folder } from './folder.tsx'
import { useLiveConversations } from './live.ts'

const TextResults = lazy(async () => ({ default: (await import('./text-results.tsx')).TextResults }))

/** The conversations of the person, to search in. */
export function ConversationList({ onChoose }: { onChoose: () => void }) {
  const [search, setSearch] = useState('')
  useLiveConversations()
  const name = useDeferredValue(search.trim())
  const scroller = useRef<HTMLElement>(null)
  return (
    <>
      <div className="conversation-search">
        <ListSearch label={t('app.conversations.search')} text={search} search={setSearch} />
        <Link
          to="/chat/import"
          className="icon-button"
          aria-label={t('app.import')}
          title={t('app.import')}
          onClick={onChoose}
        >
          <Icon name="import" />
        </Link>
      </div>
      <nav className="conversations" ref={scroller} aria-label={t('app.conversations')}>
        {name === '' && <Organized onChoose={onChoose} />}
        <ByDay name={name} scroller={scroller} onChoose={onChoose} />
        {name !== '' && (
          <Suspense>
            <TextResults words={name} onChoose={onChoose} />
          </Suspense>
        )}
      </nav>
      <Undo />
    </>
  )
}

/** What is pinned, and the folders. */
function Organized({ onChoose }: { onChoose: () => void }) {
  const [pinned, folders] = [usePinned(), useFolders()]
  return (
    <>
      {pinned.length > 0 && (
        <section>
          <h2>{t('app.conversations.pinned')}</h2>
          <ul>
            {pinned.map((each) => (
              <ConversationRow key={each.slug} conversation={each} onChoose={onChoose} />
            ))}
          </ul>
        </section>
      )}
      {folders.map((folder) => (
        <Folder key={folder.name} folder={folder} onChoose={onChoose} />
      ))}
    </>
  )
}

interface ByDayProps {
  name: string
  scroller: { current: HTMLElement | null }
  onChoose: () => void
}

/** Only what can be seen is in the page, however many there are. */
function ByDay({ name, scroller, onChoose }: ByDayProps) {
  const { data, error, hasNextPage, fetchNextPage, isFetching } = useConversations(name)
  const lines = useMemo(() => groupByDay(data?.pages.flatMap((page) => page.data) ?? []), [data])
  const list = useRef<HTMLUListElement>(null)
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (typeof lines[index] === 'string' ? HEADING_HEIGHT : ROW_HEIGHT),
    scrollMargin: list.current?.offsetTop ?? 0,
    overscan: 8,
  })
  const shown = virtualizer.getVirtualItems()
  const isAtEnd = (shown.at(-1)?.index ?? 0) >= lines.length - 1
  useEffect(() => {
    if (isAtEnd && hasNextPage && !isFetching) void fetchNextPage()
  }, [isAtEnd, hasNextPage, isFetching, fetchNextPage])
  if (error) return <ListFailure error={error} read={refreshConversations} />
  if (data && lines.length === 0)
    return <p className="hint">{t(name === '' ? 'app.conversations.none' : 'app.conversations.notFound')}</p>
  return (
    <ul className="virtual" ref={list} style={{ height: virtualizer.getTotalSize() }}>
      {shown.map(({ index, start }) => {
        const line = lines[index]
        const style = { transform: `translateY(${start - virtualizer.options.scrollMargin}px)` }
        if (line === undefined) return null
        if (typeof line !== 'string')
          return <ConversationRow key={line.slug} conversation={line} onChoose={onChoose} style={style} />
        return (
          <li key={line} className="day" style={style}>
            <h2>{line}</h2>
          </li>
        )
      })}
    </ul>
  )
}

const [HEADING_HEIGHT, ROW_HEIGHT] = [36, 34]

/** Offers back what was deleted a moment ago. */
function Undo() {
  const discarded = useDiscarded()
  return (
    <div role="status">
      {discarded && (
        <p className="undo">
          <span>{t('app.conversations.deleted', { name: discarded.name })}</span>
          <button type="button" className="plain-button" onClick={() => restoreConversation(discarded)}>
            {t('app.undo')}
          </button>
        </p>
      )}
    </div>
  )
}
