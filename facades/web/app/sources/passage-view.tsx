import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback } from 'react'
import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { describePlace } from '../shared/conversation/cited-passage.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import styles from './passage-view.module.css'

const openCitation = (address: string, signal: AbortSignal) => api.knowledge.openCitation.query({ address }, { signal })
type OpenedCitation = Awaited<ReturnType<typeof openCitation>>
type Passage = NonNullable<OpenedCitation['passage']>

/** A cited passage in its text, where it is marked. The service decides whether the person may read it. */
export function PassageView({ address }: { address: string }) {
  const { data, error } = useQuery({
    queryKey: ['citation', address],
    queryFn: ({ signal }) => openCitation(address, signal),
    // Rights and files may change at any time.
    staleTime: 0,
    gcTime: 0,
  })
  if (error instanceof SvcError && [400, 401, 404].includes(error.status ?? 0))
    return <p role="status">{t('app.source.closed')}</p>
  if (error) return <ErrorNotice error={error} />
  if (!data) return <Skeleton height="low" />
  const { path, passage } = data
  return (
    <section className={styles.source} aria-label={path}>
      <p className={styles.name} dir="auto">
        {path}
      </p>
      {passage ? <PassageText passage={passage} /> : <p>{explanations[data.state]()}</p>}
    </section>
  )
}

const explanations: Record<OpenedCitation['state'], () => ReactNode> = {
  current: () => t('app.source.closed'),
  changed: () => t('app.source.changed'),
  deleted: () => t('app.source.deleted'),
}

function PassageText({ passage }: { passage: Passage }) {
  const { before, text, after } = passage
  const place = describePlace(passage)
  const showMark = useCallback((mark: HTMLElement | null) => mark?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <>
      {place !== '' && <p className="hint">{place}</p>}
      <p className={styles.text} dir="auto">
        {before}
        {'\n'}
        <mark ref={showMark}>{text}</mark>
        {'\n'}
        {after}
      </p>
    </>
  )
}
