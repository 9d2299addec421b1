import { z } from 'zod'
import { type LimitState, listActiveLimits, listLimitsFor } from '../../entities/ai/usage-limit.sql.ts'
import { type ExplainedModel, explainModel } from '../../entities/catalogue/ai-model.sql.ts'
import type { User } from '../../entities/identity/user.ts'
import { type UsageType, usageTypes } from '../../entities/sql/columns.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { adminSession, router } from '../core/trpc.ts'
import { findUser, userChoice } from '../identity/user-selector.ts'
import { callerSubjects } from './reservation.ts'

/** Something that keeps a person from a model, or may: what pages translate, and a sentence for the command line. */
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
    | 'limit_without_price'
    | 'model_offline'
  sentence: string
  /** It refuses each call; else a call may still be answered. */
  isRefusal: boolean
}

const refusal = (code: Reason['code'], sentence: string): Reason => ({ code, sentence, isRefusal: true })

/** The names of some groups as a sentence has them. */
const anyOf = (groups: readonly string[]) => groups.map((group) => `'${group}'`).join(' or ')

function personReasons({ username, disabled, publicKey }: User, usage: UsageType, isOpen: boolean): Reason[] {
  const reasons: Reason[] = []
  if (disabled) reasons.push(refusal('person_disabled', `${username} is disabled.`))
  if (usage === 'main' && publicKey === null)
    reasons.push(refusal('person_registering', `${username} has not completed registration.`))
  if (usage === 'external' && !isOpen)
    reasons.push(
      refusal('external_communication_off', 'No token works here: ALLOW_EXTERNAL_COMMUNICATION is switched off.'),
    )
  return reasons
}

function modelReasons({ groups, role }: User, name: string, model: ExplainedModel, usage: UsageType): Reason[] {
  const reasons: Reason[] = []
  const isFor = (allowed: readonly string[]) =>
    role === 'admin' || allowed.length === 0 || allowed.some((group) => groups.includes(group))
  const { provider, modelType } = model
  if (!model.active) reasons.push(refusal('model_off', `The model ${name} is switched off.`))
  if (!model.isProviderActive) reasons.push(refusal('provider_off', `Its provider ${provider} is switched off.`))
  if (modelType !== 'chat' && modelType !== 'embedding')
    reasons.push(refusal('other_kind', `It makes neither answers nor embeddings, but ${modelType}.`))
  if (!model.usageTypes.includes(usage)) {
    const surface = usage === 'main' ? 'in the front end' : 'by programs'
    reasons.push(refusal('other_surface', `It may not be used ${surface}.`))
  }
  if (!isFor(model.groups)) reasons.push(refusal('other_group', `It is for people in ${anyOf(model.groups)} alone.`))
  if (!isFor(model.providerGroups))
    reasons.push(
      refusal(
        'other_provider_group',
        `The models of ${provider} are for people in ${anyOf(model.providerGroups)} alone.`,
      ),
    )
  if (model.status === 'offline')
    reasons.push({
      code: 'model_offline',
      sentence: 'At the last check its provider did not have it.',
      isRefusal: false,
    })
  return reasons
}

/** Listeners refuse who has not accepted an announcement, and extensions whom they will. */
async function listenerReasons({ services: { hooks, sql } }: Context, { id: userId }: User): Promise<Reason[]> {
  try {
    await hooks.emitSerial('user-acting', { userId, sql })
    return []
  } catch (error) {
    if (error instanceof Problem) return [refusal('person_refused', error.message)]
    throw error
  }
}

/** Limits that are used up, and those in money that count no call without a price. */
async function limitReasons(ctx: Context, limits: readonly LimitState[], hasPrice: boolean): Promise<Reason[]> {
  const enforced = limits.filter(({ mode }) => mode === 'enforce')
  const reached = enforced
    .filter(({ remaining }) => remaining <= 0)
    .map(({ name, resetsAt }) => refusal('limit_reached', `The limit '${name}' is used up until ${resetsAt}.`))
  const money = hasPrice ? [] : enforced.filter(({ unit }) => unit === 'money')
  if (money.length === 0) return reached
  const [active] = await ctx.services.sql(listActiveLimits)
  const strict = new Set(active?.limits.filter(({ unpricedCost }) => unpricedCost === null).map(({ name }) => name))
  const unpriced = money
    .filter(({ name }) => strict.has(name))
    .map(({ name }) => refusal('limit_without_price', `The limit '${name}' is in money, and the model has no price.`))
  return [...reached, ...unpriced]
}

/** The limits that apply to a person, whichever of their tokens calls, with what is used and left of each. */
export const listPersonLimits = (
  ctx: Context,
  { id, username, name, email, role, groups }: User,
  more: readonly (readonly [string, string])[] = [],
): Promise<LimitState[]> => {
  const subjects = [...callerSubjects({ type: 'user', person: { id, username, name, email, role, groups } }), ...more]
  return ctx.services.sql(listLimitsFor, [subjects.map(([subject]) => subject), subjects.map(([, of]) => of)])
}

const explained = z.strictObject({
  user: userChoice,
  model: z.string().max(200),
  usage: z.enum(usageTypes).default('main'),
})

export const explainRouter = router({
  /** Why a person can or cannot ask a model, in the front end or by a program of theirs. */
  explain: adminSession.input(explained).query(async ({ ctx, input: { user: choice, model: name, usage } }) => {
    const user = await findUser(ctx, choice)
    const { sql, settings } = ctx.services
    const [model] = await sql(explainModel, [name])
    const more = model
      ? ([
          ['provider', model.provider],
          ['model', name],
        ] as const)
      : []
    const limits = await listPersonLimits(ctx, user, more)
    const reasons = personReasons(user, usage, settings.allowExternalCommunication)
    reasons.push(...(await listenerReasons(ctx, user)))
    if (!model) reasons.push(refusal('unknown_model', `There is no model ${name}.`))
    else reasons.push(...modelReasons(user, name, model, usage), ...(await limitReasons(ctx, limits, model.hasPrice)))
    const { id, username } = user
    return {
      user: { id, username },
      model: name,
      usage,
      canAsk: !reasons.some(({ isRefusal }) => isRefusal),
      reasons,
      limits,
    }
  }),
})
