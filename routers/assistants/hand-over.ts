import { countOwnAssistants, handOverAssistant } from '../../entities/assistants/assistant.sql.ts'
import { createQuotaProblem, Problem } from '../core/problems.ts'
import { runForOneRow, runStatement } from '../core/run-statement.ts'
import { changeAnswering, lockEditable, type PersonContext, recordChange } from './assistant-changes.ts'
import { MAX_OWN } from './change-assistant.ts'

/** Makes an editor the owner of an assistant, and its owner an editor; only the owner does. */
export async function handOver(
  ctx: PersonContext,
  { handle, editor }: { handle: string; editor: string },
): Promise<{ handle: string; owner: string }> {
  const { id: person, username } = ctx.caller.person
  return changeAnswering(ctx, async (em) => {
    const { id, ownerId } = await lockEditable(em, person, handle)
    if (ownerId !== person) throw new Problem('not_permitted', { detail: 'Only its owner decides this.' })
    const [given] = await runStatement(em, handOverAssistant, [id, person, editor])
    if (!given)
      throw new Problem('invalid', { issues: [{ path: ['editor'], message: 'is no editor of the assistant' }] })
    const { count } = await runForOneRow(em, countOwnAssistants, [given.owner])
    if (count > MAX_OWN) throw createQuotaProblem(`A person owns at most ${MAX_OWN} assistants.`)
    recordChange(ctx, handle, { owner: { before: username, after: editor } })
    return { handle, owner: editor }
  })
}
