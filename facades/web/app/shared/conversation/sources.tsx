import { lazy, type ReactNode, Suspense, useMemo, useState } from 'react'
import { CitationsProvider } from '../markdown/citations.tsx'
import type { Source } from './answer.ts'

const SourceList = lazy(async () => ({ default: (await import('./source-list.tsx')).SourceList }))

interface SourcesProps {
  sources: readonly Source[]
  /** True in a copy outside of the chats: passages are links to the page that shows them to whoever may read them. */
  isCopy?: boolean | undefined
  /** The text, in which the numbers of passages are links. */
  children: ReactNode
}

/** A text with the pages and the passages of files that it cites. Passages have the numbers that the text has. */
export function Sources({ sources, isCopy, children }: SourcesProps) {
  const [opened, setOpened] = useState<string>()
  const citations = useMemo(
    () => (sources.length === 0 ? undefined : { sources, open: isCopy ? undefined : setOpened }),
    [sources, isCopy],
  )
  return (
    <>
      <CitationsProvider value={citations}>{children}</CitationsProvider>
      {citations && (
        <Suspense>
          <SourceList {...citations} opened={opened} close={() => setOpened(undefined)} />
        </Suspense>
      )}
    </>
  )
}
