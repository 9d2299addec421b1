import { useDeferredValue, useMemo, useRef, useState } from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { t, timeText } from '../shared/text/labels.ts'
import type { RoomMessage } from './message-content.ts'
import { useNameOf } from './message-item.tsx'
import { useRoom, useRoomView } from './room-context.ts'
import { SidePanel } from './side-panel.tsx'

const MOST = 100

interface SearchPanelProps {
  choose: (id: string) => void
  close: () => void
}

/** Searches what was read of the room, and on demand what is before that; only this browser can. */
export function SearchPanel({ choose, close }: SearchPanelProps) {
  const byId = useRoomView((view) => view.byId)
  const hasEarlier = useRoomView((view) => view.hasEarlier)
  const [text, setText] = useState('')
  const words = useDeferredValue(text.trim().toLocaleLowerCase())
  const hits = useMemo(() => {
    if (words === '') return []
    const found = [...byId.values()].filter((each) => each.text.toLocaleLowerCase().includes(words))
    return found.toSorted((one, other) => Number(other.id) - Number(one.id)).slice(0, MOST)
  }, [byId, words])
  return (
    <SidePanel title={t('app.rooms.search')} close={close}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard. */}
      <div className="panel-body" tabIndex={0}>
        <input
          type="search"
          className="text-field"
          value={text}
          maxLength={200}
          aria-label={t('app.rooms.search')}
          placeholder={t('app.rooms.searchHint')}
          onChange={({ target }) => setText(target.value)}
        />
        <p className="hint" role="status">
          {t(hasEarlier ? 'app.rooms.searchedLast' : 'app.rooms.searchedAll', { count: byId.size })}
          {words !== '' && hits.length === 0 && ` ${t('app.search.nothing')}`}
        </p>
        {hasEarlier && <WholeHistory />}
        <ul className="hits">
          {hits.map((hit) => (
            <Hit key={hit.id} hit={hit} words={words} choose={choose} />
          ))}
        </ul>
      </div>
    </SidePanel>
  )
}

function Hit({ hit, words, choose }: { hit: RoomMessage; words: string; choose: (id: string) => void }) {
  const nameOf = useNameOf()
  return (
    <li>
      <button type="button" onClick={() => choose(hit.thread ?? hit.id)}>
        <span className="hint">
          {nameOf(hit)} · {timeText(new Date(hit.createdAt))}
        </span>
        <Found text={hit.text} words={words} />
      </button>
    </li>
  )
}

/** Reads what is before that, page by page, until it is stopped. */
function WholeHistory() {
  const { store } = useRoom()
  const [state, setState] = useState<'ready' | 'reading' | { error: unknown }>('ready')
  const isStopped = useRef(false)
  const read = async () => {
    isStopped.current = false
    while (store.view.hasEarlier && !isStopped.current) await store.loadEarlier()
  }
  const begin = () => {
    setState('reading')
    read().then(
      () => setState('ready'),
      (error: unknown) => setState({ error }),
    )
  }
  const stop = () => {
    isStopped.current = true
  }
  return (
    <>
      {typeof state === 'object' && (
        <p className="wrong" role="alert">
          {errorText(state.error)}
        </p>
      )}
      <button type="button" className="plain-button" onClick={state === 'reading' ? stop : begin}>
        {t(state === 'reading' ? 'app.composer.stop' : 'app.rooms.searchAll')}
      </button>
    </>
  )
}

const AROUND = 60

/** The words that were searched for, with what stands around them. */
function Found({ text, words }: { text: string; words: string }) {
  const at = text.toLocaleLowerCase().indexOf(words)
  const end = at + words.length
  return (
    <span dir="auto">
      {at > AROUND && '…'}
      {text.slice(Math.max(0, at - AROUND), at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end, end + AROUND)}
      {end + AROUND < text.length && '…'}
    </span>
  )
}
