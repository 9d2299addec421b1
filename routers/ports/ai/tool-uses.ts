import type { EndedToolUse } from '../../../entities/ai/tool-use.sql.ts'

/** Records of the calls of tools. */
export interface ToolUses {
  /** Records a call in the background, many in one statement. */
  record(use: EndedToolUse): void
}
