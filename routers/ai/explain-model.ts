import { z } from 'zod'
import { type LimitState, listActiveLimits, listLimitsFor } from '../../entities/ai/usage-limit.sql.ts'
import { type ExplainedModel, explainModel } from '../../entities/catalogue/ai-model.sql.ts'
import { listTokens } from '../../entities/identity/access-token.sql.ts'
import type { User } from '../../entities/identity/user.ts'
import type { UsageType } from '../../entities/sql/columns.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { adminSession, router } from '../core/trpc.ts'
import { findUser, userSelector } from '../identity/user-selector.ts'
import { countsTools } from './limits/limit-index.ts'
import { listCallerSubjects } from './reservation.ts'

/**
 * A reason why a person cannot or might not be able to use a model: a code for pages, a sentence for the command line.
 */
interface Reason {
  code:
    | 'unknown_model'
    | 'person_disabled'
    | 'person_registering'
    | 'person_refused'
    | 'external_communication_off'
    | 'model_off'
    | 'provider_off'
    | 'other_kind'
    | 'other_surface'
    | 'other_group'
    | 'other_provider_group'
    | 'limit_reached'
    | 'token_limit_reached'
    | 'no_token'
    | 'token_bound'
    | 'limit_without_price'
    | 'model_offline'
  sentence: string
  /** The values of the sentence, for pages that have it in other languages. */
  values: Record<string, string>
  /** True if every call is refused; otherwise a call may still succeed. */
  isRefusal: boolean
}

const createRefusal = (code: Reason['code'], sentence: string, values: Reason['values'] = {}): Reason => ({
  code,
  sentence,
  values,
  isRefusal: true,
})

const joinGroupNames = (groups: readonly string[]) => groups.map((group) => `'${group}'`).join(' or ')

function findPersonReasons(
  { username, disabled, publicKey }: User,
  usage: UsageType,
  isExternalAllowed: boolean,
): Reason[] {
  const reasons: Reason[] = []
  if (disabled) reasons.push(createRefusal('person_disabled', `${username} is disabled.`, { username }))
  if (usage === 'main' && publicKey === null)
    reasons.push(createRefusal('person_registering', `${username} has not completed registration.`, { username }))
  if (usage === 'external' && !isExternalAllowed)
    reasons.push(
      createRefusal('external_communication_off', 'No token works here: ALLOW_EXTERNAL_COMMUNICATION is switched off.'),
    )
  return reasons
}

function findModelReasons({ groups, role }: User, name: string, model: ExplainedModel, usage: UsageType): Reason[] {
  const reasons: Reason[] = []
  const isInGroups = (allowed: readonly string[]) =>
    role === 'admin' || allowed.length === 0 || allowed.some((group) => groups.includes(group))
  const { provider, modelType } = model
  if (!model.active) reasons.push(createRefusal('model_off', `The model ${name} is switched off.`, { name }))
  if (!model.isProviderActive)
    reasons.push(createRefusal('provider_off', `Its provider ${provider} is switched off.`, { provider }))
  if (modelType !== 'chat' && modelType !== 'embedding')
    reasons.push(
      createRefusal('other_kind', `It makes neither answers nor embeddings, but ${modelType}.`, { kind: modelType }),
    )
  if (!model.usageTypes.includes(usage)) {
    const surface = usage === 'main' ? 'in the front end' : 'by programs'
    reasons.push(createRefusal('other_surface', `It may not be used ${surface}.`, { surface: usage }))
  }
  if (!isInGroups(model.groups))
    reasons.push(
      createRefusal('other_group', `It is for people in ${joinGroupNames(model.groups)} alone.`, {
        groups: model.groups.join(', '),
      }),
    )
  if (!isInGroups(model.providerGroups))
    reasons.push(
      createRefusal(
        'other_provider_group',
        `The models of ${provider} are for people in ${joinGroupNames(model.providerGroups)} alone.`,
        { provider, groups: model.providerGroups.join(', ') },
      ),
    )
  if (model.status === 'offline')
    reasons.push({
      code: 'model_offline',
      sentence: 'At the last check its provider did not have it.',
      values: {},
      isRefusal: false,
    })
  return reasons
}

/** Asks the listeners: people must accept forced announcements, and extensions may refuse anybody. */
async function findListenerReasons({ services }: Context, { id: userId, username }: User): Promise<Reason[]> {
  try {
    await services.process.hooks.emitSerial('user-acting', { userId, sql: services.sql })
    return []
  } catch (error) {
    if (error instanceof Problem)
      return [
        createRefusal('person_refused', error.message, { username, problem: error.problem, reason: error.message }),
      ]
    throw error
  }
}

const refusesModels = (limit: LimitState) => limit.mode === 'enforce' && !countsTools(limit)

/** Finds exhausted limits, and limits in money that refuse models without a price. */
async function findLimitReasons(ctx: Context, limits: readonly LimitState[], hasPrice: boolean): Promise<Reason[]> {
  const enforced = limits.filter(refusesModels)
  const reached = enforced
    .filter(({ remaining }) => remaining <= 0)
    .map(({ name, resetsAt }) =>
      createRefusal('limit_reached', `The limit '${name}' is used up until ${resetsAt}.`, {
        limit: name,
        time: resetsAt,
      }),
    )
  const moneyLimits = hasPrice ? [] : enforced.filter(({ unit }) => unit === 'money')
  if (moneyLimits.length === 0) return reached
  const [active] = await ctx.services.sql(listActiveLimits)
  const strict = new Set(active?.limits.filter(({ unpricedCost }) => unpricedCost === null).map(({ name }) => name))
  const unpriced = moneyLimits
    .filter(({ name }) => strict.has(name))
    .map(({ name }) =>
      createRefusal('limit_without_price', `The limit '${name}' is in money, and the model has no price.`, {
        limit: name,
      }),
    )
  return [...reached, ...unpriced]
}

/** Returns the limits that apply to a person with any of their tokens, with used and remaining amounts. */
export const listPersonLimits = (
  ctx: Context,
  { id, username, name, email, role, groups }: User,
  moreSubjects: readonly (readonly [string, string])[] = [],
): Promise<LimitState[]> => {
  const subjects = [
    ...listCallerSubjects({ type: 'user', person: { id, username, name, email, role, groups } }),
    ...moreSubjects,
  ]
  return ctx.services.sql(listLimitsFor, [subjects.map(([subject]) => subject), subjects.map(([, of]) => of)])
}

/** Tells if a person can ask a model in the browser or with a token, and why not. */
interface Explanation {
  canAsk: boolean
  reasons: Reason[]
}

/** The parts of a call that are the same in the browser and with a token. */
interface ExplainedCall {
  user: User
  name: string
  model: ExplainedModel | undefined
}

/** Explains a call in the browser or with a token, by the checks that such a call passes. */
async function explainCall(ctx: Context, { user, name, model }: ExplainedCall, usage: UsageType): Promise<Explanation> {
  const reasons = findPersonReasons(user, usage, ctx.services.settings.allowExternalCommunication)
  if (!model) reasons.push(createRefusal('unknown_model', `There is no model ${name}.`, { name }))
  else
    reasons.push(...findModelReasons(user, name, model, usage), ...(await findOwnLimitReasons(ctx, user, model, name)))
  reasons.push(...(await findListenerReasons(ctx, user)))
  if (usage === 'external') reasons.push(...(await findTokenReasons(ctx, user, name)))
  return { canAsk: !reasons.some(({ isRefusal }) => isRefusal), reasons }
}

const findOwnLimitReasons = async (ctx: Context, user: User, model: ExplainedModel, name: string) =>
  findLimitReasons(ctx, await listPersonLimits(ctx, user, listModelSubjects(model, name)), model.hasPrice)

const listModelSubjects = ({ provider }: ExplainedModel, name: string) =>
  [
    ['provider', provider],
    ['model', name],
  ] as const

/** Finds out if the person has a token that may ask models, and the used up limits that single tokens have. */
async function findTokenReasons(ctx: Context, user: User, model: string): Promise<Reason[]> {
  const { sql } = ctx.services
  const asking = (await sql(listTokens, [user.id])).filter(({ abilities }) => abilities.includes('ai'))
  const tokens = asking.filter(({ models }) => models?.includes(model) ?? true)
  if (asking.length === 0)
    return [
      createRefusal('no_token', `${user.username} has no valid token with the ability ai.`, {
        username: user.username,
      }),
    ]
  if (tokens.length === 0)
    return [
      createRefusal('token_bound', `Each token of ${user.username} is bound to other models.`, {
        username: user.username,
      }),
    ]
  const limits = await sql(listLimitsFor, [tokens.map(() => 'token'), tokens.map(({ id }) => `${id}`)])
  const usedUp = limits.filter((limit) => refusesModels(limit) && limit.remaining <= 0)
  const isEach = tokens.every(({ id }) => usedUp.some(({ subjectId }) => subjectId === `${id}`))
  return usedUp.map(({ name, subjectId, resetsAt }) => ({
    code: 'token_limit_reached',
    sentence: `The limit '${name}' of the token ${subjectId} is used up until ${resetsAt}.`,
    values: { limit: name, token: subjectId, time: resetsAt },
    isRefusal: isEach,
  }))
}

const explainInput = z.strictObject({ user: userSelector, model: z.string().max(200) })

export const explainRouter = router({
  /** Explains why a person can or cannot use a model: in the browser, and by a program with a token. */
  explain: adminSession.input(explainInput).query(async ({ ctx, input: { user: choice, model: name } }) => {
    const user = await findUser(ctx, choice)
    const [model] = await ctx.services.sql(explainModel, [name])
    const call = { user, name, model }
    const { id, username } = user
    return {
      user: { id, username },
      model: name,
      browser: await explainCall(ctx, call, 'main'),
      token: await explainCall(ctx, call, 'external'),
      limits: await listPersonLimits(ctx, user, model ? listModelSubjects(model, name) : []),
    }
  }),
})
