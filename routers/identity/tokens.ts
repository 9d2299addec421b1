import { z } from 'zod'
import {
  deleteExpiredTokens,
  listAllTokens,
  listTokens,
  type TokenRecord,
} from '../../entities/identity/access-token.sql.ts'
import { type Ability, AccessToken, abilities } from '../../entities/identity/access-token.ts'
import { generateSecret, hashSecret, writeToken } from '../../entities/identity/token-format.ts'
import { tokenKinds } from '../../entities/identity/token-reference.ts'
import { AI_USER_ID, User } from '../../entities/identity/user.ts'
import { findCredential, findToken } from '../../entities/views/found-token.sql.ts'
import { runInTransaction } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, adminSession, host, router, sensitiveAdmin, sessionUser } from '../core/trpc.ts'
import { tokenCredential } from '../ports/credential-watch.ts'
import { calendarMessage, isInCalendar } from '../ports/days.ts'
import { deleteInBatches } from '../verbs/delete-in-batches.ts'
import { bindModels, boundModels, listBindable } from './bind-models.ts'
import { findUser, rowId, userSelector } from './user-selector.ts'

export const tokenName = z.string().trim().min(1, 'must not be empty').max(16, 'must have at most 16 characters')

/** Abilities of a new token. `keychain` must be requested explicitly, because it opens everything. */
const defaultAbilities: Ability[] = ['ai', 'user', 'read']

/** Input for a new token. */
const grant = {
  name: tokenName,
  abilities: z.array(z.enum(abilities)).min(1).max(20).default(defaultAbilities),
  expiresAt: z.coerce
    .date()
    .refine(isInCalendar, calendarMessage)
    .refine((moment) => moment > new Date(), 'must be in the future')
    .optional(),
  models: boundModels.optional(),
}
const grantSchema = z.strictObject(grant)
type Grant = z.output<typeof grantSchema>
/** People choose one ability of their own tokens, because most programs ask models and call no tools. */
const ownGrant = grantSchema
  .omit({ abilities: true })
  .extend({ tools: z.boolean().default(false).describe('True lets the token also list and call tools at `/mcp`.') })

export const tokenId = rowId

/** Rows per statement; deleting a token also updates all of its usage records. */
const BATCH_SIZE = 100

/** Procedures for the caller's own tokens, which need the permission to create tokens. */
const selfService = sessionUser.use(({ ctx, next }) => {
  if (!ctx.services.settings.allowUserTokenCreation) throw new Problem('token_creation_off')
  return next()
})

export const tokensRouter = router({
  create: selfService.input(ownGrant).mutation(({ ctx, input: { tools, ...wanted } }) =>
    createToken(ctx, ctx.caller.person, {
      ...wanted,
      abilities: tools ? [...defaultAbilities, 'mcp'] : defaultAbilities,
    }),
  ),

  /** Lists what a new token of the caller can be bound to. */
  bindable: selfService.query(async ({ ctx }) =>
    (await listBindable(ctx, ctx.caller.person)).map(({ name, label, assistantId }) => ({
      name,
      label,
      isAssistant: assistantId !== null,
    })),
  ),

  list: selfService.query(({ ctx }): Promise<TokenRecord[]> => ctx.services.sql(listTokens, [ctx.caller.person.id])),

  revoke: selfService
    .input(z.strictObject({ tokenId }))
    .mutation(({ ctx, input }) => revokeToken(ctx, { id: input.tokenId, user: ctx.caller.person.id })),

  createFor: host.input(z.strictObject({ user: userSelector, ...grant })).mutation(async ({ ctx, input }) => {
    const { user: selector, ...wanted } = input
    const user = await findUser(ctx, selector)
    if (user.id === AI_USER_ID) throw new Problem('invalid', { detail: 'The AI user gets no token.' })
    return createToken(ctx, user, wanted)
  }),

  listFor: adminSession
    .input(z.strictObject({ user: userSelector }))
    .query(
      async ({ ctx, input }): Promise<TokenRecord[]> =>
        ctx.services.sql(listAllTokens, [(await findUser(ctx, input.user)).id]),
    ),

  /** Finds a token by what of it is no secret. */
  find: adminSession.input(z.strictObject({ kind: z.enum(tokenKinds), id: tokenId })).query(async ({ ctx, input }) => {
    const [found] = await ctx.services.sql(input.kind === 'app' ? findCredential : findToken, [input.id])
    if (!found) throw new Problem('not_found', { detail: UNKNOWN_TOKEN })
    return { kind: input.kind, ...found }
  }),

  revokeFor: sensitiveAdmin
    .meta(about('Revoke a token of a person.'))
    .input(z.strictObject({ user: userSelector, tokenId }))
    .mutation(async ({ ctx, input }) =>
      revokeToken(ctx, { id: input.tokenId, user: (await findUser(ctx, input.user)).id }),
    ),

  /** Deletes tokens a month after their expiry, until when lists show them. Several replicas may run it at once. */
  deleteExpired: host.mutation(({ ctx }) =>
    deleteInBatches(BATCH_SIZE, () => ctx.services.sql(deleteExpiredTokens, [BATCH_SIZE])),
  ),
})

const UNKNOWN_TOKEN =
  'There is no token with this id: it was revoked, expired more than a month ago, or another installation made it.'

/** Creates a token. Its text is returned once and cannot be restored from its hash. */
async function createToken(
  ctx: Context,
  owner: Parameters<typeof bindModels>[1],
  { name, abilities, expiresAt, models: names }: Grant,
) {
  const userId = owner.id
  const models = await bindModels(ctx, owner, names)
  const secret = generateSecret()
  const token = await runInTransaction(ctx, undefined, async (em) => {
    const user = em.getReference(User, userId)
    const hash = hashSecret(secret)
    const created = em.create(AccessToken, { user, name, abilities, models, hash, expiresAt: expiresAt ?? null })
    await em.flush()
    recordToken(ctx, userId, { tokenId: created.id, abilities, expiresAt, ...(names && { models: names }) })
    return created
  })
  ctx.services.log.info({ ...describeActor(ctx), tokenId: token.id, userId, abilities, expiresAt }, 'a token was made')
  return { id: token.id, name, abilities, token: writeToken({ id: token.id, secret }) }
}

/** Deletes the token, so that the next request with it fails on every replica. */
async function revokeToken(ctx: Context, target: { id: number; user: number }) {
  await runInTransaction(ctx, undefined, async (em) => {
    recordToken(ctx, target.user, { tokenId: target.id })
    // The filter `own` would hide another person's token from an administrator.
    if (await em.nativeDelete(AccessToken, target, { filters: { own: false } })) return
    throw new Problem('not_found', { detail: `There is no token ${target.id} of this user.` })
  })
  await ctx.services.changes.credentials.announce([tokenCredential(target.id)])
  ctx.services.log.info({ ...describeActor(ctx), tokenId: target.id, userId: target.user }, 'a token was revoked')
  return { id: target.id }
}

function recordToken({ auditedCall }: Context, userId: number, token: Record<string, unknown>): void {
  auditedCall?.setSubject(`user:${userId}`).recordChange(token)
}
