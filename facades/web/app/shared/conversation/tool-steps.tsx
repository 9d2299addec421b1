import { useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { ErrorMessage } from '../ui/error-message.tsx'
import { Toolbar } from '../ui/toolbar.tsx'
import type { ToolStep } from './answer.ts'
import { answerApproval } from './approvals.ts'
import { Details, DetailsPart } from './details.tsx'
import styles from './tool-steps.module.css'
import { getToolTitle } from './tool-title.ts'

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

/** Says how a tool call ended. */
export const describeTool = ({ state, name }: ToolStep): string => t(stateLabels[state], { name: getToolTitle(name) })

const ToolDetails = ({ tool }: { tool: ToolStep }) => (
  <Details
    summary={
      <>
        <span title={tool.name}>{describeTool(tool)}</span>
        {tool.server !== '' && <span className={styles.server}>{tool.server}</span>}
      </>
    }
  >
    {tool.input !== undefined && <ToolDataPart title={t('app.tool.input')} value={tool.input} />}
    {tool.output !== undefined && <ToolDataPart title={t('app.tool.output')} value={tool.output} />}
  </Details>
)

interface ToolDataProps {
  title: string
  value: unknown
}

const ToolDataPart = (props: ToolDataProps) => (
  <DetailsPart>
    <ToolData {...props} />
  </DetailsPart>
)

const ToolData = ({ title, value }: ToolDataProps) => (
  <div className={styles.data}>
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
  const words = t('app.tool.question', { name: getToolTitle(name) })
  return (
    <section className={styles.approval} aria-label={words}>
      <h3 title={name}>{words}</h3>
      <p className="hint">{t('app.tool.leaves', { server })}</p>
      <ToolData title={t('app.tool.input')} value={input} />
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
      <Toolbar align="end" className={styles.choices}>
        <Button disabled={isAnswered} onClick={() => answer(false)}>
          {t('app.tool.no')}
        </Button>
        <Button disabled={isAnswered} onClick={() => answer(true, true)}>
          {t('app.tool.always')}
        </Button>
        <Button kind="primary" disabled={isAnswered} onClick={() => answer(true)}>
          {t('app.tool.once')}
        </Button>
      </Toolbar>
    </section>
  )
}
