import { useRef, useState } from 'react'
import { describeError } from '../api/error-text.ts'
import { formatDateTime, formatDuration } from '../text/formats.ts'
import { t } from '../text/labels.ts'
import { Outcome } from '../ui/action-form.tsx'
import { Button } from '../ui/button.tsx'
import { ErrorMessage } from '../ui/error-message.tsx'
import { Toolbar } from '../ui/toolbar.tsx'
import styles from './tool-question-list.module.css'
import { answerToolQuestion, type ToolAnswer, type ToolQuestion, useToolQuestions } from './tool-questions.ts'

/** Lists the calls of tools that the person's programs may make only if the person allows them. */
export function ToolQuestionList({ onAnswered }: { onAnswered: () => void }) {
  const { data, error } = useToolQuestions()
  const [outcome, setOutcome] = useState({ outcome: '', isWrong: false })
  const answer = async ({ id, tool }: ToolQuestion, allow: ToolAnswer) => {
    try {
      await answerToolQuestion(id, allow)
      onAnswered()
      setOutcome({ outcome: t(answers[allow].done, { name: tool }), isWrong: false })
    } catch (error) {
      setOutcome({ outcome: describeError(error), isWrong: true })
    }
  }
  return (
    <>
      <p>{t('app.settings.questionsIntro')}</p>
      {error && <ErrorMessage error={error} />}
      {(data || !error) && (
        <ul className={styles.questions} aria-label={t('app.settings.questionsTitle')} aria-busy={data === undefined}>
          {data?.length === 0 && <li>{t('app.settings.questionsNone')}</li>}
          {data?.map((question) => (
            <QuestionItem key={question.id} question={question} answer={(allow) => answer(question, allow)} />
          ))}
        </ul>
      )}
      <Outcome {...outcome} />
    </>
  )
}

interface QuestionItemProps {
  question: ToolQuestion
  answer: (allow: ToolAnswer) => Promise<void>
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
  const answerOnce = async (allow: ToolAnswer) => {
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
