import { useDeferredValue, useEffect, useMemo, useState, useSyncExternalStore } from 'react'
import { ExcerptText } from '../shared/conversation/excerpt-text.tsx'
import { useTextHits } from '../shared/conversation/use-text-hits.ts'
import { formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Input } from '../shared/ui/input.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { useAuthorName } from './message-item.tsx'
import { getSalts } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { findHits, type RoomHit, type SearchState, takeNewest } from './room-search.ts'
import styles from './search-panel.module.css'
import { PanelBody, SidePanel } from './side-panel.tsx'

interface SearchPanelProps {
  choose: (id: string) => void
  close: () => void
}

/** Searches the loaded messages, and on demand the whole history. Only this browser can decrypt them. */
export function SearchPanel({ choose, close }: SearchPanelProps) {
  const [text, setText] = useState('')
  const words = useDeferredValue(text.trim())
  const state = useSearchState()
  const hits = useHits(words, state)
  return (
    <SidePanel title={t('app.rooms.search')} close={close}>
      <PanelBody>
        <Input
          type="search"
          value={text}
          maxLength={200}
          aria-label={t('app.rooms.search')}
          placeholder={t('app.rooms.searchHint')}
          onChange={({ target }) => setText(target.value)}
        />
        <SearchReach state={state} hasFound={words === '' || hits.length > 0} />
        <ul className={styles.hits}>
          {hits.map((hit) => (
            <SourceBoundary key={hit.place.id} source={hit.excerpt.words}>
              <Hit hit={hit} choose={choose} />
            </SourceBoundary>
          ))}
        </ul>
      </PanelBody>
    </SidePanel>
  )
}

function useSearchState(): SearchState {
  const { search } = useRoom()
  const keys = useRoomView((view) => view.keys)
  useEffect(() => search.forgetIfKeysChanged(keys), [search, keys])
  return useSyncExternalStore(search.subscribe, () => search.state)
}

/** Returns the hits among the loaded messages, and those that only the worker has read. */
function useHits(words: string, { reach: { count } }: SearchState): RoomHit[] {
  const { search } = useRoom()
  const byId = useRoomView((view) => view.byId)
  const found = useTextHits(search, words, count)
  return useMemo(() => {
    const earlier = (found ?? []).filter(({ place }) => !byId.has(place.id))
    return takeNewest([...findHits(byId.values(), words), ...earlier])
  }, [byId, found, words])
}

/** Describes how much has been searched, and offers to search the rest. */
function SearchReach({ state: { phase, reach, error }, hasFound }: { state: SearchState; hasFound: boolean }) {
  const { session, store, search } = useRoom()
  const byId = useRoomView((view) => view.byId)
  const hasEarlier = useRoomView((view) => view.hasEarlier)
  const isWhole = phase === 'done' || !hasEarlier
  const later = useMemo(() => [...byId.keys()].filter((id) => Number(id) > reach.newest).length, [byId, reach])
  const reached = Math.max(byId.size, reach.count + later)
  const isReading = phase === 'reading'
  const read = () => {
    const { room, keys } = store.view
    if (room) void search.read({ room, keys, salts: getSalts(session) })
  }
  return (
    <>
      <p className="hint" role="status">
        {t(isWhole ? 'app.rooms.searchedAll' : 'app.rooms.searchedLast', { count: reached })}
        {!hasFound && !isReading && ` ${t('app.search.nothing')}`}
      </p>
      {phase === 'failed' && <ErrorMessage error={error} />}
      {!isWhole && !reach.isFull && (
        <Button kind="plain" onClick={isReading ? () => search.stopReading() : read}>
          {t(isReading ? 'app.composer.stop' : 'app.rooms.searchAll')}
        </Button>
      )}
    </>
  )
}

function Hit({ hit: { place, excerpt }, choose }: { hit: RoomHit; choose: (id: string) => void }) {
  const getAuthorName = useAuthorName()
  return (
    <li>
      <button type="button" className={styles.hit} onClick={() => choose(place.thread ?? place.id)}>
        <span className={styles.origin}>
          {getAuthorName(place)} · {formatTimestamp(new Date(place.createdAt))}
        </span>
        <span dir="auto">
          <ExcerptText excerpt={excerpt} />
        </span>
      </button>
    </li>
  )
}
