import { lazy, type ReactNode, Suspense } from 'react'
import { useIsIdle } from '../idle.ts'

/** Does nothing when its chunk cannot be loaded, so that the page does not fail for it. */
const ToolQuestionNotice = lazy<() => ReactNode>(() =>
  import('./tool-question-notice.tsx').then(
    ({ ToolQuestionNotice: Notice }) => ({ default: Notice }),
    () => ({ default: () => null }),
  ),
)

/** Shows what programs ask some time after the page has opened, as few people have programs that ask. */
export function LateToolQuestions() {
  if (!useIsIdle()) return null
  return (
    <Suspense>
      <ToolQuestionNotice />
    </Suspense>
  )
}
