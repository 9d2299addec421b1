import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import styles from './queued-notice.module.css'
import type { QueuedQuestion } from './queued-questions.ts'

interface QueuedNoticeProps {
  question: QueuedQuestion
  /** The name of the model that will be asked. */
  model: string
  /** Undefined while another answer runs. */
  send: (() => void) | undefined
  takeBack: () => void
}

const reasonLabels = {
  stopped: 'app.queued.stopped',
  failed: 'app.queued.failed',
  elsewhere: 'app.queued.elsewhere',
} as const

/** Shows the question that waits, and why. */
export const QueuedNotice = ({ question, model, send, takeBack }: QueuedNoticeProps) => (
  <Notice role="group" aria-label={t('app.queued')}>
    <p role="status">{describeState(question)}</p>
    <ErrorMessage error={question.error} />
    <p className={styles.text} dir="auto">
      {question.text}
    </p>
    <p className="hint">{[model, ...question.files.map(({ name }) => name)].join(' · ')}</p>
    <p className={styles.actions}>
      {question.state === 'held' && send && <Button onClick={send}>{t('app.queued.send')}</Button>}
      <Button disabled={question.state === 'sending'} onClick={takeBack}>
        {t('app.queued.takeBack')}
      </Button>
    </p>
  </Notice>
)

function describeState({ state, reason }: QueuedQuestion): string {
  if (state !== 'held') return t(state === 'next' ? 'app.queued.next' : 'app.queued.sending')
  return t(reason ? reasonLabels[reason] : 'app.queued.unsent')
}
