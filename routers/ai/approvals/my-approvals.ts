import { z } from 'zod'
import { listSessions } from '../../../entities/identity/session.sql.ts'
import { listCallingTokens } from '../../../entities/views/calling-tokens.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { about, sessionUser } from '../../core/trpc.ts'
import { sessionCredential, tokenCredential } from '../../ports/credential-watch.ts'
import { forgetApproval, listRememberedApprovals } from './remembered-approvals.ts'

const ownApproval = z.object({
  id: z.uuid(),
  tool: z.string(),
  server: z.string().describe("The label of the tool's server."),
  conversation: z.string().describe('The name of the conversation, as in the request.'),
  token: z
    .string()
    .nullable()
    .describe('The name of the token that the approval is valid for. It is null for a session.'),
  until: z.iso.datetime(),
})
type OwnApproval = z.output<typeof ownApproval>

/** Lists and revokes the tools that people have allowed for whole conversations. */
export const ownApprovals = {
  approvals: sessionUser
    .meta(about('List the tools that the caller has approved for whole conversations.', z.array(ownApproval)))
    .query(({ ctx }) => listOwnApprovals(ctx, ctx.caller.person.id)),

  revokeApproval: sessionUser
    .meta(about('Revoke the approval of a tool for a conversation. Models then ask again.'))
    .input(ownApproval.pick({ id: true }).strict())
    .mutation(async ({ ctx, input }) => {
      if (!(await forgetApproval(ctx.services, ctx.caller.person.id, input.id))) throw new Problem('not_found')
    }),
}

/** Leaves out approvals of tokens and sessions that have ended. */
async function listOwnApprovals({ services }: Context, person: number): Promise<OwnApproval[]> {
  const approvals = await listRememberedApprovals(services, person)
  if (approvals.length === 0) return []
  const since = new Date(Date.now() - services.settings.sessionLifetime)
  const [tokens, sessions] = await Promise.all([
    services.sql(listCallingTokens, [person]),
    services.sql(listSessions, [person, since]),
  ])
  const tokenNames = new Map<string | undefined, string | null>([
    ...tokens.map(({ id, name }) => [tokenCredential(id), name] as const),
    ...sessions.map(({ handle }) => [sessionCredential(handle), null] as const),
  ])
  return approvals.flatMap(({ id, credential, conversation, tool, server, until }) => {
    const token = tokenNames.get(credential)
    return token === undefined ? [] : { id, tool, server, conversation, token, until: new Date(until).toISOString() }
  })
}

export const approvalAnswer = z.strictObject({
  id: z.uuid().describe('The id in the part `approval` of the stream.'),
  allow: z.boolean(),
  remember: z
    .boolean()
    .default(false)
    .describe(
      'True approves further calls of the tool: in the same answer and, if that is allowed, also in the conversation of the request.',
    ),
})
export type ApprovalAnswer = z.output<typeof approvalAnswer>

export const buildQuestionKey = (person: number, id: string) => `tool-approval:${person}:${id}`
export const buildAnswerKey = (person: number, id: string) => `${buildQuestionKey(person, id)}:answer`

/** Value of a question that only a session answers. */
export const FOR_SESSION = 'session'

/** Stores the person's answer to a question of their stream. Only the first answer counts. */
export async function answerApproval(ctx: Context, person: number, { id, ...answer }: ApprovalAnswer): Promise<void> {
  const { settings } = ctx.services
  const { kv } = ctx.services.stores
  const { notifier } = ctx.services.changes
  const key = buildAnswerKey(person, id)
  const question = await kv.get(buildQuestionKey(person, id))
  if (question === FOR_SESSION && !ctx.browser) throw new Problem('session_only')
  const value = JSON.stringify(answer)
  if (question === undefined || !(await kv.setIfAbsent(key, value, settings.tools.approvalTimeout)))
    throw new Problem('not_found')
  notifier.notify(key)
}
