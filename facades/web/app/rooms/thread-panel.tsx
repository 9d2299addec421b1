import { useEffect, useRef, useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { findReplies } from './ask-model.ts'
import { MessageItem, OutgoingItem } from './message-item.tsx'
import { RoomComposer } from './room-composer.tsx'
import { useRoom, useRoomView } from './room-context.ts'
import { SidePanel } from './side-panel.tsx'

/** A message and its replies, beside the room. */
export function ThreadPanel({ id, close }: { id: string; close: () => void }) {
  const { store } = useRoom()
  const byId = useRoomView((view) => view.byId)
  const allOutgoing = useRoomView((view) => view.outgoing)
  const root = byId.get(id)
  const replies = findReplies(byId, id)
  const end = useRef<HTMLDivElement>(null)
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    setError(undefined)
    store.loadThread(id).catch(setError)
  }, [store, id])
  const outgoing = allOutgoing.filter(({ queued }) => queued.thread === id)
  const count = replies.length + outgoing.length
  // biome-ignore lint/correctness/useExhaustiveDependencies: each new reply scrolls to the end.
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'end' })
  }, [count])
  return (
    <SidePanel title={t('app.rooms.thread')} close={close}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
      <div className="panel-body" tabIndex={0} role="log" aria-live="off" aria-label={t('app.rooms.threadMessages')}>
        {root && (
          <SourceBoundary source={root.text}>
            <MessageItem message={root} isInThread />
          </SourceBoundary>
        )}
        <ErrorMessage error={error} className="notice wrong" />
        {replies.length > 0 && (
          <p className="line">
            <span>{t('app.rooms.replies', { count: replies.length })}</span>
          </p>
        )}
        {replies.map((reply) => (
          <SourceBoundary key={reply.id} source={reply.text}>
            <MessageItem message={reply} isInThread />
          </SourceBoundary>
        ))}
        {outgoing.map((each) => (
          <SourceBoundary key={each.queued.clientId} source={each.text}>
            <OutgoingItem message={each} />
          </SourceBoundary>
        ))}
        <div ref={end} />
      </div>
      <RoomComposer thread={id} key={id} />
    </SidePanel>
  )
}
