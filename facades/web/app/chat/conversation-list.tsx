import { Link } from '@tanstack/react-router'
import { useVirtualizer } from '@tanstack/react-virtual'
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { language, t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import { MenuButton } from '../shared/ui/menu-button.tsx'
import { NameDialog } from '../shared/ui/name-dialog.tsx'
import { ListFailure, ListSearch } from '../shared/ui/side-list.tsx'
import { ConversationRow, ListErrorContext, useListAction } from './conversation-row.tsx'
import {
  changeFolder,
  refreshConversations,
  restoreConversation,
  useConversations,
  useDiscarded,
  useFolder,
  useFolders,
  usePinned,
} from './conversations.ts'

const TextResults = lazy(async () => ({ default: (await import('./text-search.tsx')).TextResults }))

/** The searchable list of conversations. */
export function ConversationList({ onChoose }: { onChoose: () => void }) {
  const [search, setSearch] = useState('')
  const [error, setError] = useState<unknown>()
  const name = useDeferredValue(search.trim())
  const scroller = useRef<HTMLElement>(null)
  return (
    <ListErrorContext value={setError}>
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
        {name === '' && <PinnedAndFolders onChoose={onChoose} />}
        <ConversationsByDay name={name} scroller={scroller} onChoose={onChoose} />
        {name !== '' && (
          <Suspense>
            <TextResults words={name} onChoose={onChoose} />
          </Suspense>
        )}
      </nav>
      <ErrorMessage error={error} className="notice wrong" />
      <UndoDelete />
    </ListErrorContext>
  )
}

/** The pinned conversations, and the folders. */
function PinnedAndFolders({ onChoose }: { onChoose: () => void }) {
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

interface ConversationsByDayProps {
  name: string
  scroller: { current: HTMLElement | null }
  onChoose: () => void
}

/** A virtual list: only the visible rows are in the document. */
function ConversationsByDay({ name, scroller, onChoose }: ConversationsByDayProps) {
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
  const items = virtualizer.getVirtualItems()
  const isAtEnd = (items.at(-1)?.index ?? 0) >= lines.length - 1
  useEffect(() => {
    if (isAtEnd && hasNextPage && !isFetching) void fetchNextPage()
  }, [isAtEnd, hasNextPage, isFetching, fetchNextPage])
  if (error) return <ListFailure error={error} read={refreshConversations} />
  if (data && lines.length === 0)
    return <p className="hint">{t(name === '' ? 'app.conversations.none' : 'app.conversations.notFound')}</p>
  return (
    <ul className="virtual" ref={list} style={{ height: virtualizer.getTotalSize() }}>
      {items.map(({ index, start }) => {
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

/** Offers to restore the conversation that was just deleted. */
function UndoDelete() {
  const discarded = useDiscarded()
  const run = useListAction()
  return (
    <div role="status">
      {discarded && (
        <p className="undo">
          <span>{t('app.conversations.deleted', { name: discarded.name })}</span>
          <button type="button" className="plain-button" onClick={() => run(restoreConversation(discarded))}>
            {t('app.undo')}
          </button>
        </p>
      )}
    </div>
  )
}

interface FolderProps {
  folder: { name: string; count: number }
  onChoose: () => void
}

/** A folder, whose conversations load when it is opened. */
function Folder({ folder: { name, count }, onChoose }: FolderProps) {
  const [isOpen, setOpen] = useState(false)
  const [isRenaming, setRenaming] = useState(false)
  const run = useListAction()
  const conversations = useFolder(name, isOpen)
  return (
    <section className="folder">
      <div className="folder-head">
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name="folder" />
          <span dir="auto">{name}</span>
          <span className="hint">{count}</span>
        </button>
        <MenuButton
          label={t('app.folder.more', { name })}
          className="row-menu"
          items={[
            { icon: 'edit', label: t('app.rename'), choose: () => setRenaming(true) },
            { icon: 'close', label: t('app.folder.dissolve'), choose: () => run(changeFolder(name, null)) },
          ]}
        />
      </div>
      {isOpen && (
        <ul>
          {conversations.map((each) => (
            <ConversationRow key={each.slug} conversation={each} onChoose={onChoose} />
          ))}
        </ul>
      )}
      {isRenaming && (
        <NameDialog
          title={t('app.folder.rename')}
          name={name}
          save={(newName) => changeFolder(name, newName)}
          close={() => setRenaming(false)}
        />
      )}
    </section>
  )
}

const DAY_MS = 24 * 60 * 60 * 1000

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
