import { memo } from 'react'
import type { Model } from '../shared/api/client.ts'
import { errorText } from '../shared/api/error-text.ts'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { t } from '../shared/text/labels.ts'
import type { Answer, OpenedMessage } from './message-content.ts'
import type { Turn } from './turn.ts'

/** A message as it is stored. */
export const Message = memo(({ message, models }: { message: OpenedMessage; models: readonly Model[] }) => {
  const { role, answer, isUnreadable } = message
  const name = role === 'user' ? t('app.message.you') : labelOf(message.model ?? '', models)
  return (
    <article className={`message ${role}`} aria-label={t('app.message.by', { name })}>
      <h2>{name}</h2>
      {isUnreadable && <p className="hint">{t('app.message.unreadable')}</p>}
      {role === 'user' ? (
        <p className="question" dir="auto">
          {answer.text}
        </p>
      ) : (
        <AnswerBody answer={answer} />
      )}
    </article>
  )
})

/** An answer as it comes. */
export const TurnMessage = ({ turn, models }: { turn: Turn; models: readonly Model[] }) => {
  const name = labelOf(turn.model, models)
  return (
    <article
      className="message assistant"
      aria-label={t('app.message.by', { name })}
      aria-busy={turn.phase !== 'failed'}
    >
      <h2>{name}</h2>
      {turn.phase === 'waiting' && <p className="hint waiting-dots">{t('app.message.waiting')}</p>}
      <AnswerBody answer={turn.answer} isGrowing />
      {turn.phase === 'failed' && (
        <p className="notice wrong" role="alert">
          {errorText(turn.error)}
        </p>
      )}
    </article>
  )
}

const AnswerBody = ({ answer, isGrowing = false }: { answer: Answer; isGrowing?: boolean }) => (
  <Markdown text={answer.text} isGrowing={isGrowing} />
)

/** The name of a model that is no longer offered stays on what it said. */
const labelOf = (modelId: string, models: readonly Model[]) =>
  models.find((model) => model.modelId === modelId)?.label ?? modelId
