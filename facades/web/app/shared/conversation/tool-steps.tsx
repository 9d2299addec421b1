import { useState } from 'react'
import { t } from '../text/labels.ts'
import { ErrorMessage } from '../ui/error-message.tsx'
import { Icon } from '../ui/icon.tsx'
import type { ToolStep } from './answer.ts'
import { answerApproval } from './approvals.ts'

/** The tool calls of an answer, and the requests for approval. */
export const ToolSteps = ({ tools, isStreaming }: { tools: readonly ToolStep[]; isStreaming: boolean }) =>
  tools.map((tool) =>
    tool.state === 'waiting' && isStreaming ? (
      <ApprovalRequest key={tool.id} tool={tool} />
    ) : (
      <ToolDetails key={tool.id} tool={tool} />
    ),
  )

const stateLabels = {
  running: 'app.tool.running',
  waiting: 'app.tool.asked',
  done: 'app.tool.done',
  failed: 'app.tool.failed',
  refused: 'app.tool.refused',
} as const

const ToolDetails = ({ tool: { name, server, state, input, output } }: { tool: ToolStep }) => (
  <details className="tool">
    <summary>
      <Icon name="next" />
      {t(stateLabels[state], { name })}
      {server !== '' && <span className="hint">{server}</span>}
    </summary>
    {input !== undefined && <ToolData title={t('app.tool.input')} value={input} />}
    {output !== undefined && <ToolData title={t('app.tool.output')} value={output} />}
  </details>
)

const ToolData = ({ title, value }: { title: string; value: unknown }) => (
  <div className="tool-data">
    <h3>{title}</h3>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard. */}
    <pre tabIndex={0}>{typeof value === 'string' ? value : JSON.stringify(value, null, 2)}</pre>
  </div>
)

/** Asks whether a tool may be called, and shows the complete arguments. */
function ApprovalRequest({ tool: { id, question = id, name, server, input } }: { tool: ToolStep }) {
  const [state, setState] = useState<'open' | 'answered' | { error: unknown }>('open')
  const answer = async (allow: boolean, remember = false) => {
    setState('answered')
    await answerApproval(question, { allow, remember }).catch((error: unknown) => setState({ error }))
  }
  const isAnswered = state === 'answered'
  return (
    <section className="approval" aria-label={t('app.tool.question', { name })}>
      <h3>{t('app.tool.question', { name })}</h3>
      <p className="hint">{t('app.tool.leaves', { server })}</p>
      <ToolData title={t('app.tool.input')} value={input} />
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
      <p className="actions">
        <button type="button" className="quiet-button" disabled={isAnswered} onClick={() => answer(false)}>
          {t('app.tool.no')}
        </button>
        <button type="button" className="quiet-button" disabled={isAnswered} onClick={() => answer(true, true)}>
          {t('app.tool.always')}
        </button>
        <button type="button" className="button" disabled={isAnswered} onClick={() => answer(true)}>
          {t('app.tool.once')}
        </button>
      </p>
    </section>
  )
}
