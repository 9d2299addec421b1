import { Fragment } from 'react'
import { Markdown } from '../markdown/markdown.tsx'
import type { Answer } from './answer.ts'
import { splitAnswer } from './answer-segments.ts'
import { Sources } from './sources.tsx'
import { ToolSteps } from './tool-steps.tsx'

interface AnswerPartsProps {
  answer: Answer
  isStreaming: boolean
  /** True if this person is asked for approval of the tool calls. */
  canApprove: boolean
  /** True in a copy outside of the chats, which can open passages only by their addresses. */
  isCopy?: boolean | undefined
}

/** The text and the tool calls of an answer in their order, with the pages that it cites. */
export const AnswerParts = ({ answer, isStreaming, canApprove, isCopy }: AnswerPartsProps) => (
  <Sources sources={answer.citations} isCopy={isCopy}>
    {splitAnswer(answer).map(({ start, tools, text }) => (
      <Fragment key={start}>
        <ToolSteps tools={tools} isStreaming={canApprove} />
        {text.trim() !== '' && <Markdown text={text} isStreaming={isStreaming} />}
      </Fragment>
    ))}
  </Sources>
)
