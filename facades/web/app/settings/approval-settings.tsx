import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api, queryClient } from '../shared/api/client.ts'
import { describeError } from '../shared/api/error-text.ts'
import { formatDateTime, formatDuration } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Outcome } from '../shared/ui/action-form.tsx'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import styles from './approval-settings.module.css'
import { SettingsSection } from './settings-section.tsx'

const key = ['tool-questions']
/** Milliseconds between looks for new questions, as programs ask while the page is open. */
const POLL_MS = 3000

type Question = Awaited<ReturnType<typeof api.mcpGateway.questions.query>>[number]
type Allow = Parameters<typeof api.mcpGateway.answer.mutate>[0]['allow']

/** Calls of tools that the person's programs may make only if the person allows them. */
export function ApprovalSettings() {
  const { data, error } = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => api.mcpGateway.questions.query(undefined, { signal }),
    refetchInterval: POLL_MS,
  })
  const titleRef = useRef<HTMLHeadingElement>(null)
  const [outcome, setOutcome] = useState({ outcome: '', isWrong: false })
  const answer = async ({ id, tool }: Question, allow: Allow) => {
    try {
      await api.mcpGateway.answer.mutate({ id, allow }).finally(() => queryClient.invalidateQueries({ queryKey: key }))
      titleRef.current?.focus()
      setOutcome({ outcome: t(answers[allow].done, { name: tool }), isWrong: false })
    } catch (error) {
      setOutcome({ outcome: describeError(error), isWrong: true })
    }
  }
  const title = t('app.settings.questionsTitle')
  return (
    <SettingsSection title={title} titleRef={titleRef}>
      <p>{t('app.settings.questionsIntro')}</p>
      {error && <ErrorMessage error={error} />}
      {(data || !error) && (
        <ul className={styles.questions} aria-label={title} aria-busy={data === undefined}>
          {data?.length === 0 && <li>{t('app.settings.questionsNone')}</li>}
          {data?.map((question) => (
            <QuestionItem key={question.id} question={question} answer={(allow) => answer(question, allow)} />
          ))}
        </ul>
      )}
      <Outcome {...outcome} />
    </SettingsSection>
  )
}

interface QuestionItemProps {
  question: Question
  answer: (allow: Allow) => Promise<void>
}

/** The buttons of a question, in their order, and what is said when it is answered. */
const answers = {
  no: { label: 'app.settings.question.no', done: 'app.settings.question.noDone' },
  remember: { label: 'app.settings.question.remember', done: 'app.settings.question.rememberDone' },
  once: { label: 'app.settings.question.once', done: 'app.settings.question.onceDone' },
} as const
const choices = ['no', 'remember', 'once'] as const

function QuestionItem({ question, answer }: QuestionItemProps) {
  const { tool, server, token, input, askedAt, rememberedFor } = question
  const isAnswering = useRef(false)
  const answerOnce = async (allow: Allow) => {
    if (isAnswering.current) return
    isAnswering.current = true
    await answer(allow)
    isAnswering.current = false
  }
  const words = t('app.settings.question', { name: tool, token })
  return (
    <li className={styles.question} aria-label={words}>
      <h3>{words}</h3>
      <p className="hint">
        {t('app.settings.questionFrom', { server })} · {formatDateTime(askedAt)}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
      <pre tabIndex={0}>{input}</pre>
      <Toolbar align="end">
        {choices.map((allow) => (
          <Button
            key={allow}
            onClick={() => void answerOnce(allow)}
            {...(allow === 'once' && { kind: 'primary' as const })}
          >
            {t(answers[allow].label, { duration: formatDuration(rememberedFor) })}
          </Button>
        ))}
      </Toolbar>
    </li>
  )
}
