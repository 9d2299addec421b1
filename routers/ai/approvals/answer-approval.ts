import { z } from 'zod'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'

export const approvalAnswer = z.strictObject({
  id: z.uuid().describe('As the part `approval` of the stream says.'),
  allow: z.boolean(),
  remember: z
    .boolean()
    .default(false)
    .describe(
      'Whether it holds for further calls of the tool: in the same answer, and where it is allowed also in the conversation that the request names.',
    ),
})
export type ApprovalAnswer = z.output<typeof approvalAnswer>

export const questionKey = (person: number, id: string) => `tool-approval:${person}:${id}`
export const answerKey = (person: number, id: string) => `${questionKey(person, id)}:answer`

/** Answers a question of a stream of the same person; the first answer holds. */
export async function answerApproval(ctx: Context, person: number, { id, ...answer }: ApprovalAnswer): Promise<void> {
  const { kv, notifier, settings } = ctx.services
  const key = answerKey(person, id)
  const isAsked = await kv.get(questionKey(person, id))
  const value = JSON.stringify(answer)
  if (!isAsked || !(await kv.setIfAbsent(key, value, settings.tools.approvalTimeout))) throw new Problem('not_found')
  notifier.notify(key)
}
