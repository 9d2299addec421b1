import type { Translate } from '../errors.ts'
import { element, fill } from '../form.ts'
import { item, itemButton } from '../items.ts'
import { minuteOf } from '../moments.ts'
import { ask } from '../server.ts'

interface Approval {
  id: string
  tool: string
  server: string
  conversation: string
  token: string | null
  until: string
}

/** Lists the tools that the person has allowed for whole conversations, with a button to take each back. */
export const showApprovals = (translate: Translate) => fill(translate, 'approvals', () => list(translate))

async function list(translate: Translate): Promise<void> {
  const { result } = await ask<{ result: { data: Approval[] } }>('GET', '/trpc/ai.approvals')
  const lines = result.data.map((approval) => line(translate, approval))
  element('approvals').replaceChildren(...(lines.length > 0 ? lines : [item(translate('page.profile.approvalsNone'))]))
}

function line(translate: Translate, { id, tool, server, conversation, token, until }: Approval): HTMLLIElement {
  const where = translate('page.profile.approvalOf')
    .replace(':server', () => server)
    .replace(':conversation', () => conversation)
  const by =
    token === null
      ? translate('page.profile.approvalSession')
      : translate('page.profile.approvalToken').replace(':name', () => token)
  const ends = translate('page.profile.tokenEnds').replace(':day', minuteOf(until))
  const press = async () => {
    await ask('POST', '/trpc/ai.revokeApproval', { id })
    await list(translate)
    return translate('page.profile.approvalEnded').replace(':name', () => tool)
  }
  const button = itemButton(translate, {
    ...{ list: 'approvals', label: translate('page.profile.approvalEnd'), of: tool, press },
  })
  return item(tool, [where, `${by} · ${ends}`], button)
}
