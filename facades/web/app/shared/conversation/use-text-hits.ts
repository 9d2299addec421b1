import { useEffect, useState } from 'react'
import type { SearchHit } from './search-worker.ts'

interface Searcher<Place> {
  find(words: string): Promise<SearchHit<Place>[]>
}

/**
 * Searches again when the words or the number of searchable texts change. Returns undefined until the words have been
 * searched for.
 */
export function useTextHits<Place>(
  searcher: Searcher<Place>,
  words: string,
  count: number,
): SearchHit<Place>[] | undefined {
  const [found, setFound] = useState<{ words: string; hits: SearchHit<Place>[] }>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the searchable texts change with the count.
  useEffect(() => {
    let isLate = false
    // A search that ends early has no hits.
    searcher.find(words).then((hits) => isLate || setFound({ words, hits }), ignoreEnd)
    return () => {
      isLate = true
    }
  }, [searcher, words, count])
  return found?.words === words ? found.hits : undefined
}

const ignoreEnd = () => {}
