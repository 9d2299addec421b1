import type { ApprovalPart } from '../../ports/ai/tools.ts'

/** A call of a tool that needs the person's approval. */
export interface ApprovableCall extends Omit<ApprovalPart, 'type' | 'id'> {
  /** Hash of the tool's server and definition. */
  hash: string
  /** True if no program may answer in the person's place. */
  needsSession: boolean
}

/** The reason why a call that needs approval does not run. */
export interface ApprovalRefusal {
  reason: string
  /** True if the person is asked, and has not answered yet. */
  isAsked?: true
}
