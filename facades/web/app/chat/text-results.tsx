import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { errorText } from '../shared/api/error-text.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { type Hit, type SearchState, textSearch, useTextSearch } from './text-search.ts'

interface TextResultsProps {
  words: string
  onChoose: () => void
}

/** Searches in what was written, which only this browser can read. */
export function TextResults({ words, onChoose }: TextResultsProps) {
  const { conversationKey: key } = useSession()
  const state = useTextSearch()
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is opened grows with the count.
  const hits = useMemo(() => textSearch.find(words), [words, state.count])
  const isReading = state.phase === 'reading'
  return (
    <section className="text-results" aria-label={t('app.search.texts')}>
      <h2>{t('app.search.texts')}</h2>
      <ul>
        {hits.map((hit) => (
          <HitRow key={`${hit.conversation.slug}/${hit.number}`} hit={hit} onChoose={onChoose} />
        ))}
      </ul>
      <p className="hint" role="status">
        {progressText(state, hits.length)}
      </p>
      {state.phase === 'failed' && (
        <p className="notice wrong" role="alert">
          {errorText(state.error)}
        </p>
      )}
      <button
        type="button"
        className="plain-button"
        onClick={() => (isReading ? textSearch.stop() : void textSearch.read(key))}
      >
        {t(isReading ? 'app.composer.stop' : state.phase === 'idle' ? 'app.search.begin' : 'app.search.again')}
      </button>
    </section>
  )
}

const progressLabels = {
  reading: 'app.search.reading',
  stopped: 'app.search.partly',
  failed: 'app.search.partly',
  full: 'app.search.partly',
  done: 'app.search.done',
} as const

/** Says how far it was searched. */
function progressText({ phase, count }: SearchState, found: number): string {
  if (phase === 'idle') return t('app.search.hint')
  const progress = t(progressLabels[phase], { count })
  return found === 0 && phase !== 'reading' ? `${progress} ${t('app.search.nothing')}` : progress
}

const HitRow = ({ hit, onChoose }: { hit: Hit; onChoose: () => void }) => (
  <li>
    <Link to="/chat/$slug" params={{ slug: hit.conversation.slug }} hash={hit.number} onClick={onChoose}>
      <span className="hit-name" dir="auto">
        {hit.conversation.name}
      </span>
      <span className="hint" dir="auto">
        {hit.excerpt.before}
        <mark>{hit.excerpt.words}</mark>
        {hit.excerpt.after}
      </span>
    </Link>
  </li>
)
