import type { Answer } from '../shared/answer/answer.ts'
import { ToolSteps } from '../shared/answer/tool-steps.tsx'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { Sources } from '../shared/markdown/sources.tsx'
import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import { useChatActions } from './chat-state.ts'

interface AnswerBodyProps {
  answer: Answer
  isComplete: boolean
  isGrowing?: boolean
  isLast?: boolean
}

/** What a model says, with what it thought, did and cites. */
export const AnswerBody = ({ answer, isComplete, isGrowing = false, isLast = false }: AnswerBodyProps) => (
  <>
    <Thoughts answer={answer} isGrowing={isGrowing} />
    <ToolSteps tools={answer.tools} isGrowing={isGrowing} />
    <Markdown text={answer.text} isGrowing={isGrowing} />
    <Sources sources={answer.citations} />
    {!isGrowing && !isComplete && <Cut cut={answer.cut ?? 'interrupted'} isLast={isLast} />}
  </>
)

/** What the model thought, folded away. */
function Thoughts({ answer: { thoughts, thinkingSeconds, text }, isGrowing }: { answer: Answer; isGrowing: boolean }) {
  if (thoughts.length === 0) return null
  const isThinking = isGrowing && text === '' && thinkingSeconds === undefined
  return (
    <details className="thoughts">
      <summary>
        <Icon name="next" />
        {isThinking
          ? t('app.thoughts.now')
          : t('app.thoughts.took', { count: Math.max(1, Math.round(thinkingSeconds ?? 0)) })}
      </summary>
      <div className="thoughts-text">
        <Markdown text={thoughts.map((thought) => thought.text).join('\n\n')} isGrowing={isGrowing} />
      </div>
    </details>
  )
}

/** Says that an answer is not whole, and offers to go on. */
function Cut({ cut, isLast }: { cut: NonNullable<Answer['cut']>; isLast: boolean }) {
  const { continueAnswer } = useChatActions()
  return (
    <p className="cut">
      <span>{t(cutLabels[cut])}</span>
      {isLast && cut !== 'refusal' && (
        <button type="button" className="quiet-button" onClick={continueAnswer}>
          {t('app.message.continue')}
        </button>
      )}
    </p>
  )
}

const cutLabels = {
  length: 'app.cut.length',
  limit: 'app.cut.limit',
  refusal: 'app.cut.refusal',
  stopped: 'app.cut.stopped',
  interrupted: 'app.cut.interrupted',
} as const
