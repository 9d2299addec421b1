import { useEffect, useState } from 'react'
import { Divider } from '../shared/conversation/divider.tsx'
import { MessageLog, useFollowEnd } from '../shared/conversation/message-log.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import { findReplies } from './ask-model.ts'
import type { TargetMessage } from './linked-message.ts'
import { MessageItem, OutgoingItem } from './message-item.tsx'
import { RoomComposer } from './room-composer.tsx'
import { useRoom, useRoomView } from './room-context.ts'
import { SidePanel } from './side-panel.tsx'

interface ThreadPanelProps {
  id: string
  /** The reply that was chosen last. */
  target?: TargetMessage | undefined
  close: () => void
}

/** A message and its replies, beside the room. */
export function ThreadPanel({ id, target, close }: ThreadPanelProps) {
  const { store } = useRoom()
  const byId = useRoomView((view) => view.byId)
  const allOutgoing = useRoomView((view) => view.outgoing)
  const root = byId.get(id)
  const replies = findReplies(byId, id)
  const follow = useFollowEnd({})
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    setError(undefined)
    store.loadThread(id).catch(setError)
  }, [store, id])
  const outgoing = allOutgoing.filter(({ queued }) => queued.thread === id)
  const sent = outgoing.at(-1)?.queued.clientId
  // biome-ignore lint/correctness/useExhaustiveDependencies: the person's own reply leads to the end.
  useEffect(follow.showEnd, [sent])
  const isTargetShown = target !== undefined && byId.has(target.id)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each choice scrolls once.
  useEffect(() => {
    if (!isTargetShown) return
    follow.stopFollowing()
    document.getElementById(`message-${target.id}`)?.scrollIntoView({ block: 'center' })
  }, [target, isTargetShown])
  return (
    <SidePanel title={t('app.rooms.thread')} close={close}>
      <MessageLog label={t('app.rooms.threadMessages')} follow={follow} showNewest={follow.showEnd}>
        {root && (
          <SourceBoundary source={root.text}>
            <MessageItem message={root} isInThread />
          </SourceBoundary>
        )}
        <ErrorNotice error={error} />
        {replies.length > 0 && <Divider text={t('app.rooms.replies', { count: replies.length })} />}
        {replies.map((reply) => (
          <SourceBoundary key={reply.id} source={reply.text}>
            <MessageItem message={reply} isHighlighted={reply.id === target?.id} isInThread />
          </SourceBoundary>
        ))}
        {outgoing.map((each) => (
          <SourceBoundary key={each.queued.clientId} source={each.text}>
            <OutgoingItem message={each} />
          </SourceBoundary>
        ))}
      </MessageLog>
      <RoomComposer thread={id} key={id} />
    </SidePanel>
  )
}
