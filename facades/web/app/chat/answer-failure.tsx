import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { type LimitRefusal, SvcError } from '../../../client/index.ts'
import { describeError, getRequestId, isRateLimited, isSentTooLong } from '../shared/api/error-text.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { describeLimitAmount, formatTimestamp } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import styles from './answer-failure.module.css'
import { useChatActions } from './chat-state.ts'
import { listFittingModels } from './fitting-model.ts'
import { refreshMessages } from './messages.ts'
import { findCompared, findReason } from './unanswered.ts'

interface AnswerFailureProps {
  slug: string
  error: unknown
  /** The number of the question. */
  parent: number
  /** The model that was asked. */
  model: string
  models: readonly ChatModel[]
}

/** Shows the error below the answer, with what the person can do. */
export function AnswerFailure(props: AnswerFailureProps) {
  const { error, parent, model, models } = props
  const { tryAgain } = useChatActions()
  if (isSentTooLong(error))
    return (
      <Suspense>
        <OverflowNotice {...props} />
      </Suspense>
    )
  const limit = getLimit(error)
  const offer = limit && findOffer(limit, models, model)
  return (
    <FailureNotice
      error={error}
      actions={
        <>
          {offer && <OfferButtons offer={offer} parent={parent} />}
          <Button onClick={() => tryAgain(parent)}>{t('app.tryAgain')}</Button>
        </>
      }
    >
      {offer && limit.unit !== 'requests' && !offer.maxTokens && offer.models.length === 0 && (
        <p>{t('app.limit.nothing')}</p>
      )}
    </FailureNotice>
  )
}

const getLimit = (error: unknown): LimitRefusal | undefined => (error instanceof SvcError ? error.limit : undefined)

interface FailureNoticeProps {
  error: unknown
  /** Buttons with what the person can do. */
  actions: ReactNode
  /** True for two answers that are requested together. */
  isForBoth?: boolean
  children?: ReactNode
}

/** Says why a model has not answered, and under which id the log of the service has it. */
export function FailureNotice({ error, actions, isForBoth = false, children }: FailureNoticeProps) {
  const isForNow = isRateLimited(error)
  const requestId = isForNow ? undefined : getRequestId(error)
  const limit = getLimit(error)
  return (
    <Notice kind={isForNow ? 'warning' : 'error'} role="alert">
      <p>{limit ? describeLimit(limit, (error as SvcError).retryAt, isForBoth) : describeError(error)}</p>
      {children}
      {requestId && (
        <p className="hint">
          {t('page.requestId')}: <code>{requestId}</code>
        </p>
      )}
      <p className={styles.actions}>{actions}</p>
    </Notice>
  )
}

const OverflowNotice = lazy(async () => ({ default: (await import('./overflow-notice.tsx')).OverflowNotice }))

/** Milliseconds in which the service stores what a closing page has sent. */
const CLOSING_MS = 2000

/** Says why a question has no answer, and offers to request one. */
export function UnansweredNotice({ slug, number }: { slug: string; number: number }) {
  const { tryAgain, compareAgain } = useChatActions()
  const reason = findReason({ slug, parent: number })
  const compared = findCompared({ slug, parent: number })
  const wasClosed = reason === t('app.unanswered.closed')
  // What the closing page has sent may be stored after this one has read the messages.
  useEffect(() => {
    const timer = wasClosed ? setTimeout(() => void refreshMessages(slug), CLOSING_MS) : undefined
    return () => clearTimeout(timer)
  }, [slug, wasClosed])
  return (
    <Notice className={styles.unanswered}>
      <p>{reason ?? t('app.unanswered')}</p>
      <p className={styles.actions}>
        <Button onClick={() => (compared ? compareAgain(number, compared) : tryAgain(number))}>
          {t(compared ? 'app.compare.bothAgain' : 'app.tryAgain')}
        </Button>
      </p>
    </Notice>
  )
}

/** Says that an answer has come which is not stored, and offers to store it at once. */
export function UnsavedNotice({ error }: { error: unknown }) {
  const { storeAgain } = useChatActions()
  return (
    <Notice kind="warning" role="alert">
      <p>
        {t('app.unsaved')} {describeError(error)}
      </p>
      <p className={styles.actions}>
        <Button onClick={storeAgain}>{t('app.unsaved.again')}</Button>
      </p>
    </Notice>
  )
}

/** Says what a limit has left, until when, and what the question may take of it. */
function describeLimit(limit: LimitRefusal, resetsAt: Date | undefined, isForBoth: boolean): string {
  const { name, left, needed } = limit
  const values = { name, left: describeLimitAmount(limit, left) }
  const sentences = [
    left > 0 ? t('app.limit.left', values) : t('app.limit.spent', values),
    ...(needed === undefined ? [t('app.limit.unknown')] : []),
    ...(needed !== undefined && limit.unit !== 'requests'
      ? [t(isForBoth ? 'app.compare.needed' : 'app.limit.needed', { amount: describeLimitAmount(limit, needed) })]
      : []),
    ...(resetsAt ? [t('app.limit.resets', { at: formatTimestamp(resetsAt) })] : []),
  ]
  return sentences.join(' ')
}

/** A shorter answer is offered from this length, about a paragraph. */
const MIN_ANSWER_TOKENS = 100

/** Words per token, by experience in European languages; the page speaks of words. */
const WORDS_PER_TOKEN = 0.6

/** What fits into the rest of a limit. */
interface Offer {
  /** The longest answer of the model that was asked. */
  maxTokens: number | undefined
  /** Other models. */
  models: readonly ChatModel[]
}

function findOffer(limit: LimitRefusal, models: readonly ChatModel[], refusedId: string): Offer {
  const { fittingAnswerTokens = 0 } = limit
  return {
    maxTokens: fittingAnswerTokens >= MIN_ANSWER_TOKENS ? fittingAnswerTokens : undefined,
    models: listFittingModels(limit, models, refusedId),
  }
}

/** Buttons that ask for what fits into the rest of a limit. */
function OfferButtons({ offer: { maxTokens, models }, parent }: { offer: Offer; parent: number }) {
  const { tryAgain } = useChatActions()
  return (
    <>
      {maxTokens !== undefined && (
        <Button onClick={() => tryAgain(parent, { maxTokens })}>
          {t('app.limit.shorter', { count: roundDown(maxTokens * WORDS_PER_TOKEN) })}
        </Button>
      )}
      {models.map(({ modelId, label }) => (
        <Button key={modelId} onClick={() => tryAgain(parent, { modelId })}>
          {t('app.limit.otherModel', { name: label })}
        </Button>
      ))}
    </>
  )
}

/** Keeps two digits, as the number is an estimate. */
function roundDown(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1)
  return Math.floor(count / unit) * unit
}
