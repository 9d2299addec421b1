import { z } from 'zod'
import { listCallingTokens } from '../../entities/views/calling-tokens.sql.ts'
import { rememberForProgram } from '../ai/approvals/page-approvals.ts'
import { answerQuestion, listQuestions } from '../ai/approvals/page-questions.ts'
import type { Context } from '../core/context.ts'
import { about, sessionUser } from '../core/trpc.ts'
import { tokenCredential } from '../ports/credential-watch.ts'

const ownQuestion = z.object({
  id: z.uuid(),
  tool: z.string(),
  server: z.string().describe("The label of the tool's server."),
  token: z.string().describe('The name of the token with which the program called the tool.'),
  input: z.string().describe('The arguments as JSON, cut after 2,000 characters.'),
  askedAt: z.iso.datetime(),
  rememberedFor: z.number().describe('The milliseconds for which `remember` allows the tool.'),
})
type OwnQuestion = z.output<typeof ownQuestion>

/** Calls of programs that wait for their person. Only a session answers them. */
export const ownQuestions = {
  questions: sessionUser
    .meta(
      about(
        "List the calls of tools that the caller's programs have asked for and must not make yet.",
        z.array(ownQuestion),
      ),
    )
    .query(({ ctx }) => listOwnQuestions(ctx, ctx.caller.person.id)),

  answer: sessionUser
    .meta(about('Allow or refuse a call that a program has asked for.'))
    .input(
      z.strictObject({
        id: z.uuid(),
        allow: z
          .enum(['once', 'remember', 'no'])
          .describe('`remember` allows each call of the tool by this program for hours.'),
      }),
    )
    .mutation(({ ctx, input }) => answer(ctx, ctx.caller.person.id, input)),
}

/** Leaves out questions of tokens that have ended. */
async function listOwnQuestions({ services }: Context, person: number): Promise<OwnQuestion[]> {
  const questions = await listQuestions(services, person)
  if (questions.length === 0) return []
  const { approvalLifetime: rememberedFor } = services.settings.tools
  const tokens = await services.sql(listCallingTokens, [person])
  const names = new Map(tokens.map(({ id, name }) => [tokenCredential(id), name]))
  return questions.flatMap(({ id, tool, server, credential, input, askedAt }) => {
    const token = names.get(credential)
    if (token === undefined) return []
    return { id, tool, server, token, input, askedAt: new Date(askedAt).toISOString(), rememberedFor }
  })
}

async function answer(
  ctx: Context,
  person: number,
  { id, allow }: { id: string; allow: 'once' | 'remember' | 'no' },
): Promise<void> {
  const { credential, ...call } = await answerQuestion(ctx, person, id, allow === 'once')
  if (allow === 'remember') await rememberForProgram(ctx.services, { person, credential }, call)
}
