import type { StepState } from './use-step.ts'

/** Says how a step went. */
export const Outcome = ({ outcome, isWrong }: Pick<StepState, 'outcome' | 'isWrong'>) => (
  <p className={isWrong ? 'outcome wrong' : 'outcome'} role="status">
    {outcome}
  </p>
)
