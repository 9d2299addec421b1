import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { AnswerParts } from '../shared/conversation/answer-parts.tsx'
import { MessageView } from '../shared/conversation/message-view.tsx'
import { hasLabel, t } from '../shared/text/labels.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { SourceBoundary } from '../shared/ui/source-boundary.tsx'
import styles from './message-item.module.css'
import type { Disclosure } from './room.ts'
import { getOwnId } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { getAskerName } from './room-members.ts'

/** The streaming answers, and the last one if it failed or was stopped just now. */
export function RunningAnswers() {
  const disclosures = useRoomView((view) => view.disclosures)
  const lastAt = useRoomView(({ messages }) => messages.at(-1)?.createdAt)
  const [latest] = disclosures
  const running = disclosures.filter(({ state }) => state === 'answering')
  const isMissing = latest && missingStates.includes(latest.state) && isLater(latest.endedAt, lastAt)
  return (
    <>
      {isMissing && <MissingAnswer disclosure={latest} />}
      {running.toReversed().map((each) => (
        <RunningAnswer key={each.id} disclosure={each} />
      ))}
    </>
  )
}

const missingStates: readonly Disclosure['state'][] = ['failed', 'lost', 'cancelled']

const isLater = (one: string | null, other: string | undefined) =>
  one !== null && (other === undefined || Date.parse(one) > Date.parse(other))

function RunningAnswer({ disclosure }: { disclosure: Disclosure }) {
  const { session, getModelName } = useRoom()
  const room = useRoomView((view) => view.room)
  const members = useRoomView((view) => view.members)
  const [error, setError] = useState<unknown>()
  const { id, user } = disclosure
  const model = getModelName(disclosure.model, disclosure.assistant)
  const answer = useRoomView(({ streamingAnswers }) => streamingAnswers.get(id))
  const isAsker = user === getOwnId(session)
  const canStop = isAsker || room?.role === 'admin'
  const stop = () => api.rooms.cancelAnswer.mutate({ id: room?.id ?? '', disclosure: id }).catch(setError)
  return (
    <MessageView className={styles.message} name={model} facts={null} isBusy>
      <Avatar name="" icon="sparkle" className={styles.avatar} />
      {answer && (
        <div dir="auto">
          <SourceBoundary source={answer.text}>
            <AnswerParts answer={answer} isStreaming canApprove={isAsker} />
          </SourceBoundary>
        </div>
      )}
      <p className="hint" role="status">
        {t('app.rooms.answering', { asker: getAskerName(disclosure, members) })}
      </p>
      {canStop && <Button onClick={() => void stop()}>{t('app.composer.stop')}</Button>}
      <ErrorMessage error={error} />
    </MessageView>
  )
}

/** Says why an answer has gone of which people may have read a part. */
function MissingAnswer({ disclosure: { model, assistant, state, error } }: { disclosure: Disclosure }) {
  const { getModelName } = useRoom()
  const key = `app.error.${error}`
  if (state === 'cancelled')
    return (
      <p className="hint" role="status">
        {t('app.progress.stopped')}
      </p>
    )
  return (
    <Notice kind="error" role="alert">
      {t('app.rooms.answerFailed', { model: getModelName(model, assistant) })} {hasLabel(key) ? t(key) : ''}
    </Notice>
  )
}
