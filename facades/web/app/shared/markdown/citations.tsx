import { createContext, lazy, type ReactNode, Suspense, useContext } from 'react'
import type { Citations } from '../passages.ts'
import { TextWithMentions } from './mentions.tsx'

const CitationsContext = createContext<Citations | undefined>(undefined)

/** Provides the sources to which the numbers of texts lead; `undefined` within links, which cannot be nested. */
export const CitationsProvider = CitationsContext.Provider

const CitedText = lazy(async () => ({ default: (await import('./cited-text.tsx')).CitedText }))

/** A text of a line, in which the numbers of passages are links. */
export function TextWithCitations({ text }: { text: string }): ReactNode {
  const citations = useContext(CitationsContext)
  const plain = <TextWithMentions text={text} />
  if (!citations) return plain
  return (
    <Suspense fallback={plain}>
      <CitedText text={text} citations={citations} />
    </Suspense>
  )
}
