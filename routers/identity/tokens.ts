import { z } from 'zod'
import {
  deleteExpiredTokens,
  listAllTokens,
  listTokens,
  type TokenRecord,
} from '../../entities/identity/access-token.sql.ts'
import { type Ability, AccessToken, abilities } from '../../entities/identity/access-token.ts'
import { generateSecret, hashSecret, writeToken } from '../../entities/identity/token-format.ts'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { runInTransaction } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { adminSession, freshAdmin, host, router, sessionUser } from '../core/trpc.ts'
import { tokenCredential } from '../ports/credential-watch.ts'
import { calendarMessage, isInCalendar } from '../ports/days.ts'
import { deleteInBatches } from '../verbs/delete-in-batches.ts'
import { findUser, resourceId, userChoice } from './user-selector.ts'

export const tokenName = z.string().trim().min(1, 'must not be empty').max(16, 'must have at most 16 characters')

/** `keychain` is for those who know what it opens: it is never given unless asked for. */
const usualAbilities: Ability[] = ['ai', 'user', 'read']

/** What a new token may do and until when. */
const grant = {
  name: tokenName,
  abilities: z.array(z.enum(abilities)).min(1).max(20).default(usualAbilities),
  expiresAt: z.coerce
    .date()
    .refine(isInCalendar, calendarMessage)
    .refine((moment) => moment > new Date(), 'must be in the future')
    .optional(),
}
const grantSchema = z.strictObject(grant)
type Grant = z.output<typeof grantSchema>
/** People do not choose what their own tokens may do. */
const ownGrant = grantSchema.omit({ abilities: true })

export const tokenId = resourceId

/** Deleted in one statement, which lets go of all usage records of each. */
const BATCH = 100

/** Where people may not make tokens, they may not see or revoke them here either. */
const selfService = sessionUser.use(({ ctx, next }) => {
  if (!ctx.services.settings.allowUserTokenCreation) throw new Problem('token_creation_off')
  return next()
})

export const tokensRouter = router({
  create: selfService
    .input(ownGrant)
    .mutation(({ ctx, input }) => create(ctx, ctx.caller.person.id, { ...input, abilities: usualAbilities })),

  list: selfService.query(({ ctx }): Promise<TokenRecord[]> => ctx.services.sql(listTokens, [ctx.caller.person.id])),

  revoke: selfService
    .input(z.strictObject({ tokenId }))
    .mutation(({ ctx, input }) => revoke(ctx, { id: input.tokenId, user: ctx.caller.person.id })),

  createFor: host.input(z.strictObject({ user: userChoice, ...grant })).mutation(async ({ ctx, input }) => {
    const { user: choice, ...wanted } = input
    const user = await findUser(ctx, choice)
    if (user.id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user gets no token.' })
    return create(ctx, user.id, wanted)
  }),

  listFor: adminSession
    .input(z.strictObject({ user: userChoice }))
    .query(
      async ({ ctx, input }): Promise<TokenRecord[]> =>
        ctx.services.sql(listAllTokens, [(await findUser(ctx, input.user)).id]),
    ),

  revokeFor: freshAdmin
    .input(z.strictObject({ user: userChoice, tokenId }))
    .mutation(async ({ ctx, input }) => revoke(ctx, { id: input.tokenId, user: (await findUser(ctx, input.user)).id })),

  /** Lists show a token for a month after it expired. Several replicas may do so at once. */
  deleteExpired: host.mutation(({ ctx }) =>
    deleteInBatches(BATCH, () => ctx.services.sql(deleteExpiredTokens, [BATCH])),
  ),
})

/** The plain token leaves here once; what is kept cannot give it back. */
async function create(ctx: Context, userId: number, { name, abilities, expiresAt }: Grant) {
  const secret = generateSecret()
  const token = await runInTransaction(ctx, undefined, async (em) => {
    const user = em.getReference(User, userId)
    const hash = hashSecret(secret)
    const made = em.create(AccessToken, { user, name, abilities, hash, expiresAt: expiresAt ?? null })
    await em.flush()
    noteToken(ctx, userId, { tokenId: made.id, abilities, expiresAt })
    return made
  })
  ctx.services.log.info({ ...describeActor(ctx), tokenId: token.id, userId, abilities, expiresAt }, 'a token was made')
  return { id: token.id, name, abilities, token: writeToken({ id: token.id, secret }) }
}

/** Deleted at once: the next request with it, on whichever replica, finds nothing. */
async function revoke(ctx: Context, where: { id: number; user: number }) {
  await runInTransaction(ctx, undefined, async (em) => {
    noteToken(ctx, where.user, { tokenId: where.id })
    // The token of a person whom an administrator names is not their own.
    if (await em.nativeDelete(AccessToken, where, { filters: { own: false } })) return
    throw new Problem('not_found', { detail: `There is no token ${where.id} of this user.` })
  })
  await ctx.services.credentials.announce([tokenCredential(where.id)])
  ctx.services.log.info({ ...describeActor(ctx), tokenId: where.id, userId: where.user }, 'a token was revoked')
  return { id: where.id }
}

function noteToken({ auditedCall }: Context, userId: number, token: Record<string, unknown>): void {
  auditedCall?.setSubject(`user:${userId}`).recordChange(token)
}
